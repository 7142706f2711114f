"""Kills the brokers of the reference implementation under load, and prints the anomalies found.

    python -m benchmarks.kills --kills 1000 --minutes 60

A trial is one test run, which kills the brokers 20 times. The trials alternate between the
workloads `append-and-read` and `transactions`. `urteil analyze` checks the history and the log
directories of each trial.

The last trial always finishes, so the number of kills may be a little higher than `--kills`.

The exit code is 1 if a trial has an anomaly. The folder of such a trial is not deleted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.kills.trial import ROOT, Trial, run
from benchmarks.pairs import write_results
from checkers.record.options import Workload

IN_A_TRIAL: Final = 20
WORKLOADS: Final[Sequence[Workload]] = ("append-and-read", "transactions")
_URTEIL: Final = "from checkers.cli.main import main; main()"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    started_s, kills, operations, violated = time.monotonic(), 0, 0, list[str]()
    for number in count():
        trial = Trial(
            kills=IN_A_TRIAL,
            workload=WORKLOADS[number % len(WORKLOADS)],
            sends=IN_A_TRIAL * 60,
            seed=options.seed + number,
        )
        folder = Path(tempfile.mkdtemp(prefix="urteil-kills-"))
        result, data_dir = run(trial, folder)
        found = [*_violated(folder, str(result.folder)), *_violated(folder, *_log_dirs(data_dir))]
        kills, operations = kills + trial.kills, operations + result.operations
        violated += [f"seed {trial.seed}, {trial.workload}: {name}" for name in found]
        sys.stdout.write(f"{kills} kills, {operations} operations, violated: {violated}\n")
        if not found:
            shutil.rmtree(folder)
        if kills >= options.kills or time.monotonic() - started_s > options.minutes * 60:
            break
    facts = {
        "kills": kills,
        "operations": operations,
        "violated": violated,
        "seconds": round(time.monotonic() - started_s),
        "first_seed": options.seed,
    }
    sys.stdout.write(f"  kept in {write_results('kills', [], facts)}\n")
    return 1 if violated else 0


def _log_dirs(data_dir: Path) -> list[str]:
    return ["--log-dirs", *(str(folder) for folder in sorted(data_dir.glob("broker-*")))]


def _violated(folder: Path, *words: str) -> list[str]:
    """Returns the anomalies that `urteil analyze` finds, without the permitted ones."""
    call = [sys.executable, "-c", _URTEIL, "analyze", *words, "--engine", "local", "--json"]
    ended = subprocess.run(
        [*call, "--out", str(folder / "runs")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode not in {0, 1}:
        raise RuntimeError(f"{folder}: exit code {ended.returncode}: {ended.stderr}")
    events = [json.loads(line) for line in ended.stdout.splitlines()]
    return [
        str(event["anomaly"])
        for event in events
        if event["event"] == "anomaly_decided"
        and event["verdict"] == "violated"
        and not event["permitted"]
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
