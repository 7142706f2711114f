"""Kernels against the literal definitions, by the hundred thousand: `--histories 100000 --seed 0`.

Each history is made from a number. The kinds take turns, cheap ones more often:

    clusters    what clients of a small cluster observed, often one with a bug, then changed
    anything    a few clients that are told anything at all
    pipelines   the same, mostly of transactions and committed offsets
    consumers   the same, mostly of polls of a settled log; and pipelines of one

Everything that is told must be what the definitions say: which assumptions are broken; every row of
every anomaly in order, on how much each rests, and whether it is permitted; what each application
was delivered, and by which record a delivery semantics is broken. All that can be declared of a
history is drawn, `jepsen` with its names for the anomalies too.

A call of the kernels costs a tenth of a second however little it is given. So most histories of a
block are analysed as one (`one_after_another`), cut into pieces at random as a whole, and the
definitions are asked of each by itself: what they find together must be told of the whole. That
asks of each history all that is asked of it alone, and of the kernels also to keep histories apart.
Only what is said of a whole is not asked of each: whether there is any operation, or anything to
observe, and on how much an anomaly rests (the sum is asked). So one history of each block is
analysed alone, and cut in several ways. Of a broken assumption only the first rows are told:
histories that break one are analysed by themselves, as many as one as are told in full.

What differs is sought in halves of what was analysed as one, until no cut of a half shows it; the
numbers that are left are printed, and make the exit code 1. What is declared belongs to a number
and its block: `--seed NUMBER --histories 1` analyses a history again as it was alone. Of each
thousand the result is kept beside those of campaigns that began elsewhere, so a campaign that is
stopped has told what it had done: the rows of each anomaly, and the applications of each delivery
semantics.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from benchmarks.pairs import RESULTS, keep
from checkers.histories.analysis import KEPT, Analysis, analysis_of
from checkers.histories.columnar.rows import as_rows
from model.histories import History
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import Declarations, SubVia
from properties.delivery import deliveries
from tests.checkers.histories.any_history import CONSUMERS, PIPELINES, anything
from tests.checkers.histories.mutated_clusters import changed, cut
from tests.checkers.histories.one_after_another import Joined, joined, own

KINDS: Final[tuple[Callable[[int], History], ...]] = (
    partial(changed, steps=(200, 200, 400)),
    anything,
    partial(anything, fs=PIPELINES),
    partial(anything, fs=CONSUMERS, settled=0.95),
    partial(anything, fs=PIPELINES, settled=0.8),
)
BLOCK: Final = 50
KEPT_EVERY: Final = 1_000
KEPT_IN: Final = RESULTS / "agreement.json"
ISOLATIONS: Final = ("read_committed", "read_committed", "read_uncommitted")
COMPACTED: Final = ("o", "i", "o-0")  # topics, or keys
SUB_VIAS: Final[tuple[tuple[SubVia, ...], ...]] = (
    ("assign",),
    ("subscribe",),
    ("assign", "subscribe"),
)
DELIVERY: Final = "delivery semantics"
FILES: Final = 40  # that histories together are cut into, at most
FILES_OF_ONE: Final = 12
CUTS: Final = 3  # in which a history alone is analysed

Catalogue = Callable[[Declarations], tuple[Anomaly, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What is not told as it is defined, and the histories that show it: mostly one alone."""

    numbers: tuple[int, ...]
    of: str  # an anomaly, assumptions, or delivery semantics

    def __str__(self) -> str:
        return f"history {' with '.join(map(str, self.numbers))}: {self.of} differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Histories that are made, and how they are judged."""

    made: Mapping[int, History]
    looked_for: Catalogue

    def differences(self) -> tuple[Counter[str], list[Difference]]:
        """How many rows of each anomaly there are, and where the two ways differ."""
        found, odd = Counter[str](), list[Difference]()
        for numbers in self._together():
            try:
                rows, names = self._compared(numbers, cuts=CUTS if len(numbers) == 1 else 1)
                odd += self._blamed(numbers, names)
            except Exception as fault:
                fault.add_note(f"histories that were compared: {numbers}")
                raise
            found += rows
        return found, odd

    def _together(self) -> Iterator[list[int]]:
        """One alone; those that break no assumption; of the others as many as are told in full."""
        sound: list[int] = []
        told, some = 0, list[int]()
        for number, h in self.made.items():
            broken = max(len(one.find(h)) for one in ASSUMPTIONS)
            if number % BLOCK == number // BLOCK % BLOCK:
                yield [number]
            elif not broken:
                sound.append(number)
            elif told + broken <= KEPT:
                told, some = told + broken, [*some, number]
            else:
                yield some or [number]
                told, some = (broken, [number]) if some else (0, [])
        yield from filter(None, (sound, some))

    def _blamed(self, numbers: list[int], names: list[str]) -> list[Difference]:
        """What differs of all these, told of as few of them as show it."""
        found: list[Difference] = []
        if names and len(numbers) > 1:
            middle = len(numbers) // 2
            for half in (numbers[:middle], numbers[middle:]):
                found += self._blamed(half, self._compared(half)[1])
        left = [name for name in names if name not in {one.of for one in found}]
        return [*found, *(Difference(numbers=tuple(numbers), of=name) for name in left)]

    def _compared(self, numbers: list[int], cuts: int = CUTS) -> tuple[Counter[str], list[str]]:
        """How much there is, and what differs in the first of these cuts that shows anything."""
        found, odd = Counter[str](), list[str]()
        for nth in range(cuts):
            found, odd = self._compared_in(nth, numbers)
            if odd:
                break
        return found, odd

    def _compared_in(self, cut_number: int, numbers: list[int]) -> tuple[Counter[str], list[str]]:
        declared, made = _declared(numbers), [self.made[number] for number in numbers]
        rng = _random("cut", numbers[0] * CUTS + cut_number)
        told = analysis_of(
            cut(joined(made).whole, rng, files=FILES if len(numbers) > 1 else FILES_OF_ONE),
            self.looked_for(declared),
            name="generated",
            declared=declared,
            groups=rng.randrange(1, 4),
        )
        return _compared(told, joined([declared.applied(h) for h in made]), declared)


def _random(what: str, number: int) -> random.Random:
    """Random numbers for this alone: a history is made with those of its number."""
    return random.Random(f"{what} {number}")


def _declared(numbers: list[int]) -> Declarations:
    rng = _random("declared", numbers[0] // BLOCK)
    compacted = set[str]()
    for which, number in enumerate(numbers):
        of_number = _random("compacted", number)
        if of_number.random() < 0.1:
            compacted.add(own(of_number.choice(COMPACTED), which))
    return Declarations(
        sub_via=frozenset(rng.choice(SUB_VIAS)),
        ww_deps=rng.random() < 0.8,
        rw_deps=rng.random() < 0.5,
        isolation=rng.choice(ISOLATIONS),
        compacted=frozenset(compacted),
        finished=rng.random() < 0.7,
        jepsen=rng.random() < 0.3,
    )


def _compared(
    told: Analysis, as_one: Joined, declared: Declarations
) -> tuple[Counter[str], list[str]]:
    """How much the definitions find of everything, and what is not told as they find it."""
    rows_of = {one.id: rows for one in ASSUMPTIONS if (rows := as_one.of_each(one.find))}
    found = Counter({name: len(rows) for name, rows in rows_of.items()})
    kept = {name: (len(rows), tuple(sorted(rows)[:KEPT])) for name, rows in rows_of.items()}
    if {it.assumption.id: (it.count, it.rows) for it in told.broken} != kept:
        return found, ["assumptions"]
    delivered = [] if told.broken else as_one.of_each(partial(deliveries, declared=declared))
    delivered.sort(key=lambda it: it.application)
    found.update(it.semantics for it in delivered)
    odd = [] if told.delivered == tuple(delivered) else [DELIVERY]
    decided = () if told.broken else told.decisions
    literal = {it.anomaly.id: _literally(it.anomaly, as_one) for it in decided}
    if not any(observed for _, observed in literal.values()):
        return found, odd + [it.anomaly.id for it in told.decisions if it.verdict != "undecided"]
    for it in told.decisions:
        rows, observed = literal[it.anomaly.id]
        found[it.anomaly.id] = len(rows)
        verdict = "violated" if rows else "holds"
        permitted = bool(rows) and not declared.conditions().isdisjoint(it.anomaly.permits)
        same = as_rows(it.rows, it.anomaly.row) == worst_first(rows)
        told_of_it = (it.verdict, it.permitted, it.observations)
        if not same or told_of_it != (verdict, permitted, observed):
            odd.append(it.anomaly.id)
    return found, odd


def _literally(one: Anomaly, as_one: Joined) -> tuple[list[Any], int]:
    """The rows of an anomaly by its definition, and on how much it rests."""
    if one.observes == "history":
        return [*one.find(as_one.whole)], one.observed(as_one.whole)
    return as_one.of_each(one.find), sum(map(one.observed, as_one.each))


def campaign(
    histories: int, seed: int, processes: int, looked_for: Catalogue = catalogue
) -> Iterator[tuple[int, Counter[str], list[Difference]]]:
    """After each block: how many are done, the rows of each anomaly so far, what differs in it."""
    end = seed + histories
    blocks = [
        range(max(seed, first), min(end, first + BLOCK))
        for first in range(seed - seed % BLOCK, end, BLOCK)
    ]
    done, found = 0, Counter[str]()
    with ProcessPoolExecutor(processes) as pool:
        of_each = pool.map(partial(_differences, looked_for), blocks)
        for numbers, (rows, odd) in zip(blocks, of_each, strict=True):
            done, found = done + len(numbers), found + rows
            yield done, found, odd


def _differences(looked_for: Catalogue, numbers: range) -> tuple[Counter[str], list[Difference]]:
    made = {number: KINDS[number % len(KINDS)](number) for number in numbers}
    return Block(made=made, looked_for=looked_for).differences()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.agreement")
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    told = parser.parse_args()
    others = [it for it in json.loads(KEPT_IN.read_text())["campaigns"] if it["seed"] != told.seed]
    began, differ = time.perf_counter(), 0
    for done, found, odd in campaign(told.histories, told.seed, told.processes):
        differ += len(odd)
        sys.stdout.writelines(f"{one}\n" for one in odd)
        if done % KEPT_EVERY and done < told.histories:
            continue
        facts = {
            "seed": told.seed,
            "histories": done,
            "differences": differ,
            "seconds": round(time.perf_counter() - began),
            "rows": dict(sorted(found.items())),
        }
        file = keep("agreement", [], {"campaigns": [*others, facts]})
        sys.stdout.write(f"{done:,} histories, {differ} differences; kept in {file}\n")
        sys.stdout.flush()
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
