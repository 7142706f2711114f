"""Runs the fuzzer in a child process, and writes its results to `benchmarks/results`.

libFuzzer ends the process in which it runs, so this module reads the log of a child process. These
are two lines of such a log:

    #13046305 NEW    cov: 396 ft: 1226 corp: 247/38Kb lim: 4096 exec/s: 3623 rss: 126Mb ...
    Done 13046325 runs in 3601 second(s)
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.pairs import write_results

_DONE: Final = re.compile(r"^Done (\d+) runs in (\d+) second", re.MULTILINE)
_STATUS: Final = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")
_NO_INPUTS: Final = frozenset({"corpus", "log"})


def run(target: str, folder: Path, call: list[str]) -> int:
    """Runs the fuzzer, prints its log, writes the result as JSON, and returns the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(call, stderr=subprocess.PIPE, text=True, errors="replace") as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            file.write(line)
            sys.stderr.write(line)
        code = process.wait()
    write_results(
        f"fuzz-{target}", [], result(log.read_text(encoding="utf-8"), code, failures(folder))
    )
    return code


def result(log: str, exit_code: int, failures: list[str]) -> dict[str, Any]:
    """Returns the result of a run as a JSON object.

    The totals are read from libFuzzer's log. A total is None if the log does not contain it.
    `failures` are the inputs that ended the run.
    """
    done = _DONE.search(log)
    statuses = _STATUS.findall(log)
    branches, _, inputs = statuses[-1] if statuses else (None, None, None)
    return {
        "exit_code": exit_code,
        "failures": failures,
        "runs": int(done[1]) if done else None,
        "seconds": int(done[2]) if done else None,
        "covered_branches": branches and int(branches),
        "inputs_kept": inputs and int(inputs),
        "niceness": os.nice(0),
    }


def failures(folder: Path) -> list[str]:
    """Returns the names of the files that libFuzzer has written because of a failure."""
    return sorted(file.name for file in folder.iterdir() if file.name not in _NO_INPUTS)
