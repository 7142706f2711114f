"""Searches for false positives: anomalies that history analysis reports without a cause.

    python -m tools.convictions --seconds 900              # simulates further histories
    python -m tools.convictions --case transactions/bug/no-dedup --seed 3    # one history
    python -m tools.convictions --page                     # only the page

The program simulates histories with a planted fault or a seeded bug, analyzes them, and counts the
anomalies. It writes the record benchmarks/results/convictions.json and the page
docs/convictions.md. It prints the anomalies that a bug promises and that no history shows. The exit
code is 1 if there is a defect: an anomaly that its fault or bug does not explain, directly or
through another anomaly, a broken assumption, or no progress without a bug.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from checkers.report.anomalies import explained
from model.faults import UnknownName
from tools.convictions.campaign import BATCH, analysis, defects, outcomes, unraised
from tools.convictions.cases import Case, cases
from tools.convictions.page import PAGE, page
from tools.convictions.record import KEPT, Tally, keep, kept


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=900.0, help="the budget")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--case", help="only this case")
    parser.add_argument("--seed", type=int, help="with --case: print the report of this history")
    parser.add_argument("--record", type=Path, default=KEPT, help="the record, as JSON")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args(arguments)
    chosen = _chosen(options.case)
    if options.seed is not None:
        sys.stdout.write(explained(analysis(chosen[0], options.seed)) + "\n")
        return 0
    tallies = kept(options.record)
    if not options.page:
        _run(chosen, tallies, options)
    if options.record == KEPT:
        PAGE.write_text(page(cases(), tallies), encoding="utf-8")
    found = list(defects(cases(), tallies))
    for one in found:
        sys.stdout.write(
            f"{one.case.name}: {one.symptom} in {one.histories} histories, first at seed "
            f"{one.first_seed}\n"
        )
    for bug in unraised(cases(), tallies):
        sys.stdout.write(
            f"{bug.bug} never raised {', '.join(bug.anomalies)} in {bug.histories} histories\n"
        )
    total = sum(tally.histories for tally in tallies.values())
    sys.stdout.write(f"{total:,} histories, {len(found)} defects\n")
    return 1 if found else 0


def _chosen(name: str | None) -> tuple[Case, ...]:
    every = cases()
    if name is not None and name not in {case.name for case in every}:
        raise UnknownName("case", name, [case.name for case in every])
    return tuple(case for case in every if name in (None, case.name))


def _run(chosen: Sequence[Case], tallies: dict[str, Tally], options: argparse.Namespace) -> None:
    until = time.monotonic() + options.seconds
    every = outcomes(chosen, tallies, until=until, jobs=options.jobs)
    try:
        for done, outcome in enumerate(every, start=1):
            tallies.setdefault(outcome.case, Tally(case=outcome.case)).add(outcome)
            if done % BATCH == 0:
                keep(tallies.values(), options.record)
    finally:
        keep(tallies.values(), options.record)


if __name__ == "__main__":
    sys.exit(main())
