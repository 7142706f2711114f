"""Kernels against the literal definitions, by the hundred thousand: `--histories 100000 --seed 0`.

Each history is made from a number, cut into chunks and files at random, and analysed in this
process; a few processes do so at once. Everything that is told must be what the definitions say:
which assumptions are broken, every row of every anomaly in order, and on how much each rests. Two
kinds take turns:

    clusters   what clients of a small cluster observed, often one with a bug, then changed
    anything   a few clients that are told anything at all

What differs is printed with its number, and makes the exit code 1. Of each thousand the result is
kept, so a campaign that is stopped has told what it had done.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

from benchmarks.pairs import keep
from checkers.histories.analysis import KEPT, Analysis, analysis_of
from checkers.histories.columns.rows import as_rows
from model.histories import History
from properties.anomalies.anomaly import Row, worst_first
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declared import Declared
from tests.checkers.histories.any_history import anything
from tests.checkers.histories.mutated_clusters import changed, cut

KINDS: Final[tuple[Callable[[int], History], ...]] = (changed, anything)
AT_ONCE: Final = 250
KEPT_EVERY: Final = 1_000
ISOLATIONS: Final = ("read_committed", "read_committed", "read_uncommitted")


def differences(number: int) -> tuple[Counter[str], list[str]]:
    """Of this history how many rows of each anomaly there are, and where the two ways differ."""
    rng = random.Random(number)
    h = KINDS[number % len(KINDS)](number)
    declared = Declared(
        isolation=rng.choice(ISOLATIONS),
        compacted=frozenset({"o"} if rng.random() < 0.1 else ()),
        ww_deps=rng.random() < 0.8,
    )
    chosen = catalogue(declared)
    told = analysis_of(
        cut(h, rng), chosen, name="generated", declared=declared, groups=rng.randrange(1, 4)
    )
    return _compared(told, declared.applied(h))


def _compared(told: Analysis, h: History) -> tuple[Counter[str], list[str]]:
    broken = {one.id: rows for one in ASSUMPTIONS if (rows := one.find(h))}
    found = Counter({name: len(rows) for name, rows in broken.items()})
    kept = {name: (len(rows), rows[:KEPT]) for name, rows in broken.items()}
    if {it.assumption.id: (it.count, it.rows) for it in told.broken} != kept:
        return found, ["assumptions"]
    if broken:
        return found, []
    observed = {it.anomaly.id: it.anomaly.observed(h) for it in told.decisions}
    if not any(observed.values()):
        return found, [it.anomaly.id for it in told.decisions if it.verdict != "undecided"]
    odd: list[str] = []
    for it in told.decisions:
        literal = it.anomaly.find(h)
        found[it.anomaly.id] = len(literal)
        ours: tuple[Row, ...] = as_rows(it.rows, it.anomaly.row)
        same = ours == worst_first(literal)
        if not same or it.observations != observed[it.anomaly.id]:
            odd.append(it.anomaly.id)
    return found, odd


def _some(first: int, seed: int) -> tuple[int, Counter[str], list[tuple[int, str]]]:
    found, odd = Counter[str](), list[tuple[int, str]]()
    for number in range(seed + first, seed + first + AT_ONCE):
        rows, differ = differences(number)
        found += rows
        odd += [(number, name) for name in differ]
    return AT_ONCE, found, odd


def campaign(histories: int, seed: int, processes: int) -> Iterator[tuple[int, Counter[str], int]]:
    """After each few hundred: how many are done, the rows of each anomaly, how many differ."""
    done, found, differ = 0, Counter[str](), 0
    with ProcessPoolExecutor(processes) as pool:
        for some, rows, odd in pool.map(partial(_some, seed=seed), range(0, histories, AT_ONCE)):
            done, found, differ = done + some, found + rows, differ + len(odd)
            for number, name in odd:
                sys.stdout.write(f"history {number}: {name} differs\n")
            yield done, found, differ


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.agreement")
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    told = parser.parse_args()
    began, differ = time.perf_counter(), 0
    for done, found, differ in campaign(told.histories, told.seed, told.processes):
        if done % KEPT_EVERY and done < told.histories:
            continue
        facts = {
            "seed": told.seed,
            "histories": done,
            "differences": differ,
            "seconds": round(time.perf_counter() - began),
            "rows": dict(sorted(found.items())),
        }
        file = keep("agreement", [], facts)
        sys.stdout.write(f"{done:,} histories, {differ} differences; kept in {file}\n")
        sys.stdout.flush()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
