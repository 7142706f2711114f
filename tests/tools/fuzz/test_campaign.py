"""The result of a fuzzing campaign: what the log of the fuzzer says, and the inputs that failed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.fuzz import campaign

LOG = """
INFO: Using built-in libfuzzer
#1121767 REDUCE cov: 396 ft: 1187 corp: 225/35Kb lim: 4096 exec/s: 26708 rss: 124Mb L: 537/2842
#1150604 NEW    cov: 397 ft: 1189 corp: 226/35Kb lim: 4096 exec/s: 26758 rss: 124Mb L: 90/2842
Done 1160000 runs in 61 second(s)
"""
FUZZER = """
import pathlib, sys
sys.stderr.write(sys.argv[1])
pathlib.Path(sys.argv[2], "crash-1").write_bytes(b"x")
sys.exit(77)
"""


def test_the_result_is_what_the_log_says_at_its_end() -> None:
    found = campaign.result(LOG, 0, [])
    assert (found["runs"], found["seconds"]) == (1_160_000, 61)
    assert (found["covered_branches"], found["inputs_kept"]) == (397, 226)
    assert campaign.result("killed", -9, [])["runs"] is None


def test_a_failure_of_the_fuzzer_is_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[str, object]] = []
    monkeypatch.setattr(
        campaign, "write_results", lambda name, _, facts: written.append((name, facts))
    )
    (tmp_path / "corpus").mkdir()
    call = [sys.executable, "-c", FUZZER, LOG, str(tmp_path)]
    assert campaign.run("frames", tmp_path, call) == 77
    assert written == [("fuzz-frames", campaign.result(LOG, 77, ["crash-1"]))]
