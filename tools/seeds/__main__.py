"""Runs each search of the shipped suites on ten seeds. A search looks for violations of claims.

A claim has a condition; for example, a condition on the settings of clients. If it is satisfied, no
search may find a violation. If it is not, each search should find one.

    python -m tools.seeds --seconds 3600            # runs the searches that have no result yet
    python -m tools.seeds --suite log --again       # only this suite, all of it
    python -m tools.seeds --page                    # only the page

The results are written to benchmarks/results/seeds.json and to the page docs/seeds.md. The exit
code is 1 if a verdict is not the expected one, and 3 if searches are missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from properties.suites.registry import SUITES, suite_named
from tools.seeds.campaign import Search, conduct, searches
from tools.seeds.page import PAGE, page
from tools.seeds.record import KEPT, Row, Searched, keep, kept


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="the budget")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--suite", help="only this suite")
    parser.add_argument("--again", action="store_true", help="repeat recorded searches")
    parser.add_argument("--record", type=Path, default=KEPT, help="the record, as JSON")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args(arguments)
    chosen = list(searches((suite_named(options.suite).name,) if options.suite else tuple(SUITES)))
    rows = kept(options.record)
    if not options.page:
        open_still = [one for one in chosen if options.again or one.key not in rows]
        _run(open_still, rows, options)
    every = list(searches())
    rows = {one.key: rows[one.key] for one in every if one.key in rows}
    if options.record == KEPT:
        keep(rows.values(), options.record)
        PAGE.write_text(page(every, rows), encoding="utf-8")
    wrong = [row for row in rows.values() if row.other]
    sys.stdout.write(f"{len(rows):,} of {len(every):,} searches, {len(wrong)} unexpected\n")
    return 1 if wrong else 0 if len(rows) == len(every) else 3


def _run(
    open_still: Sequence[Search], rows: dict[Searched, Row], options: argparse.Namespace
) -> None:
    until = time.monotonic() + options.seconds
    waiting = iter(open_still)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(conduct, one) for one in islice(waiting, options.jobs)}
        while running:
            done = next(as_completed(running))
            running.remove(done)
            row = done.result()
            rows[row.searched] = row
            keep(rows.values(), options.record)
            at = row.searched
            sys.stdout.write(
                f"{at.suite} {at.where} seed {at.seed} {row.cpu_s} s {row.other or ''}\n"
            )
            sys.stdout.flush()
            if time.monotonic() < until and (one := next(waiting, None)) is not None:
                running.add(pool.submit(conduct, one))


if __name__ == "__main__":
    sys.exit(main())
