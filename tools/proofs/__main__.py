"""Repeats the proof of each version of a spec on ten seeds of Z3, and checks it once with cvc5.

    python -m tools.proofs --seconds 3600                  # runs the missing proofs
    python -m tools.proofs --spec quorum-abstract --again  # only this spec, all of it
    python -m tools.proofs --page                          # only the page

The results are written to benchmarks/results/proofs.json and to the page docs/proofs.md. The exit
code is 1 if a proof failed, and 3 if proofs are missing. A recorded time is the CPU time of one
process. Each verification condition has the same limit as in `urteil prove`. The limit counts the
work of Z3, so other work on the machine changes no result.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.pairs import cpu_model
from model.faults import UnknownName
from model.specs import SPECS
from tools.proofs.campaign import conduct, tasks
from tools.proofs.page import PAGE, page
from tools.proofs.record import KEPT, keep, kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the proofs that the JSON record lacks, writes the page docs/proofs.md, and returns the
    exit code.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="the budget")
    parser.add_argument("--spec", help="only this spec")
    parser.add_argument("--again", action="store_true", help="repeat recorded proofs")
    parser.add_argument("--record", type=Path, default=KEPT, help="the record, as JSON")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args(arguments)
    if options.spec not in (None, *SPECS):
        raise UnknownName("spec", options.spec, SPECS)
    every = list(tasks())
    machine, rows = kept(options.record)
    until = time.monotonic() + (0 if options.page else options.seconds)
    for task in every:
        done = task.key in rows and not options.again
        if done or options.spec not in (None, task.key.spec) or time.monotonic() >= until:
            continue
        rows[task.key] = row = conduct(task)
        machine = {"CPU": cpu_model(), **{it: version(it) for it in ("z3-solver", "cvc5")}}
        keep(rows.values(), machine, options.record)
        sys.stdout.write(f"{task.key.spec} {task.key.version} seed {task.seed}: {row.cpu_s} s\n")
        sys.stdout.flush()
    rows = {task.key: rows[task.key] for task in every if task.key in rows}
    if options.record == KEPT:
        PAGE.write_text(page(every, rows, machine), encoding="utf-8")
    failed = [key for key, row in rows.items() if row.reason]
    sys.stdout.write(f"{len(rows)} of {len(every)} proofs, {len(failed)} failed\n")
    return 1 if failed else 0 if len(rows) == len(every) else 3


if __name__ == "__main__":
    sys.exit(main())
