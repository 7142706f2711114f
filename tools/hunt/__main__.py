"""Runs random workloads under faults on Kafka clusters, and records each run in docs/hunt.md.

    python -m tools.hunt --seconds 28800
    python -m tools.hunt --seed 17 --on 4.2.0 --runs 1     # the plan of one seed again
    python -m tools.hunt --known unclean-election
    python -m tools.hunt --page                 # only the page

The plan of a run (version, settings, workload and faults) is drawn from the run's seed. No run
begins that would probably end after `--seconds`. Ctrl-C and SIGTERM end the present run and stop
its cluster. The run is then recorded as interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from tools.hunt import campaign, record
from tools.hunt.page import PAGE, page
from tools.hunt.plan import KNOWN, VERSIONS, Plan, drawn
from tools.hunt.record import Row, add, kept, next_seed

RUN_S: Final = 150.0  # about the longest duration of a run on two busy cores
FOLDER: Final = Path("runs") / "hunt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="the budget")
    parser.add_argument("--runs", type=int, help="at most so many runs")
    parser.add_argument("--seed", type=int, help="the first seed; default: the first unused one")
    parser.add_argument("--on", nargs="+", default=VERSIONS, help="versions of Apache Kafka")
    parser.add_argument("--known", choices=KNOWN, help="run this plan of a known defect once")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of runs that are kept")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupted)
    if not options.page:
        run(options)
    PAGE.write_text(page(kept(record.KEPT)), encoding="utf-8")


def run(options: argparse.Namespace) -> None:
    """Runs the chosen plans until the time or the number of runs is used up, or a run is
    interrupted.
    """
    until = time.monotonic() + options.seconds
    for count, plan in enumerate(plans(options)):
        if count == options.runs or time.monotonic() + RUN_S > until:
            return
        stamp = time.strftime("%Y-%m-%dT%H%M%S")
        row = campaign.conduct(plan, options.folder / f"{stamp}-{plan.known or plan.seed}")
        add(row, record.KEPT)
        note(row)
        if row.verdict == "interrupted":
            return


def plans(options: argparse.Namespace) -> Iterator[Plan]:
    """Yields random plans without end, or only the plan that `--known` names."""
    if options.known:
        yield KNOWN[options.known]
        return
    seed = next_seed(kept(record.KEPT)) if options.seed is None else options.seed
    while True:
        yield drawn(seed, options.on)
        seed += 1


def note(row: Row) -> None:
    broke = ", ".join(row.violated) or row.reason
    sys.stderr.write(
        f"seed {row.known or row.seed} on {row.version}, {row.workload}: {row.verdict}"
        f" {broke} ({row.operations} operations, {row.seconds:.0f} s)\n"
    )
    sys.stderr.flush()


def _interrupted(_: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
