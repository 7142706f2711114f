"""`urteil analyze --explain` prints the query plan, and neither starts Spark nor analyzes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

PASS = """\
pass 2  operations → record locations, sends
  shuffling by location
    reads    op, outcome, kind, key, offset, value, isolation
    shuffles by key, block of 65,536 offsets
    keeps    key, offset, value, op, role
    used by  every anomaly
  shuffling by value
    reads    op, outcome, kind, key, offset, value, isolation
    shuffles by value
    keeps    key, offset, value, op, role
    used by  every anomaly

"""
STAGE = """\
  resolving fingerprints of values
    runs     only if earlier stages found rows for it
    reads    value
    keeps    fingerprint, text
    used by  lost-write
"""


def test_the_plan_is_text(call: Callable[..., Any], tmp_path: Path) -> None:
    output = call("analyze", "--explain", "--anomaly", "lost-write", json_events=False)
    assert output.exit_code == 0
    assert output.stdout.startswith("pass 1  operations\n  checking that rows are valid\n")
    assert PASS in output.stdout
    assert STAGE in output.stdout
    assert not (tmp_path / "runs").exists()


def test_the_plan_is_events(call: Callable[..., Any]) -> None:
    output = call("analyze", "--explain", "--demo")
    passes = output.named("pass_explained")
    assert [one["number"] for one in passes] == [*range(1, len(passes) + 1)]
    assert {one["source"] for one in passes} == {"operations", "record locations", "sends"}
    assert passes[0]["stages"][4] == {
        "stage": "counting operations",
        "reads": ["op", "kind", "invoked_ns"],
        "keeps": ["operations", "micro_operations", "started_ns"],
        "shuffled_by": [],
        "used_by": [],
        "is_always": True,
    }
    assert output.named("anomaly_decided") == []


def test_an_unusable_input_is_refused(call: Callable[..., Any], tmp_path: Path) -> None:
    for words, fault in (
        (("--anomaly", "lost-wite"), "no anomaly 'lost-wite'; the nearest: lost-write"),
        ((str(tmp_path / "none"),), "none: no such file or folder; check the path"),
        (("--log-dirs", str(tmp_path)), "--explain applies to histories only"),
    ):
        output = call("analyze", "--explain", *words)
        assert output.exit_code == 2
        assert fault in output.stderr


def test_the_plan_needs_no_spark() -> None:
    program = (
        "import sys\n"
        "from checkers.cli.main import urteil\n"
        "try:\n"
        "    urteil(['analyze', '--explain', '--anomaly', 'future-read'])\n"
        "finally:\n"
        "    print(*({'pyarrow', 'pyspark'} & {*sys.modules}))\n"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output.endswith("\npyarrow\n")
