"""Compares the fast history analysis with slow, literal definitions: `--histories 100000 --seed 0`.

A definition is a Python function that follows the text of an anomaly word for word (`properties`).
Each history is generated from its number. There are five kinds of histories:

    1   clients of a small simulated cluster, often with a bug; then a few operations are changed
    2   a few clients with random observations, which may contradict each other
    3   like kind 2, but mostly with transactions and committed offsets
    4   like kind 2, but mostly with polls; 95 % of the observations agree on one log
    5   like kind 3, but 80 % of the observations agree on one log

Three results must be equal: the assumptions that the history breaks, the occurrences of every
anomaly, and the delivery semantics.

An analysis takes a tenth of a second even for the smallest history. So most histories are joined,
and a thousand histories are analysed together. If the result differs from the result of the
definitions, the set of histories is halved repeatedly. The smallest sets that still differ are
printed, as the numbers of their histories. `--seed NUMBER --histories 1` repeats the comparison of
one history.

A history is analysed in partitions (ranges of consecutive operations). Each partition costs about
as much as twenty histories. So four of each thousand histories are analysed alone, each three times
with different borders of the partitions. All other histories are joined into three long histories.
The first has the histories that break an assumption, because a broken assumption would hide
anomalies of the others. The second has only twenty histories, so that its partitions are small. The
third has the rest. A long history is divided into at most forty partitions, so about half of its
short histories have operations in several partitions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from benchmarks.pairs import RESULTS, write_results
from checkers.histories.analysis import KEPT, Analysis, BrokenAssumption, analysis_of
from checkers.histories.columnar.rows import as_rows
from checkers.verdicts import verdict_on
from model.histories import History
from properties.anomalies.anomaly import Anomaly, worst_first
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import catalogue
from properties.anomalies.declarations import Declarations, SubVia
from properties.delivery import Delivery, deliveries
from tests.checkers.histories.joined_histories import Joined, joined, own
from tests.checkers.histories.mutated_histories import changed, partitioned
from tests.checkers.histories.random_histories import CONSUMERS, PIPELINES, random_history

KINDS: Final[tuple[Callable[[int], History], ...]] = (
    partial(changed, steps=(200, 200, 400)),
    random_history,
    partial(random_history, fs=PIPELINES),
    partial(random_history, fs=CONSUMERS, settled=0.95),
    partial(random_history, fs=PIPELINES, settled=0.8),
)
BLOCK: Final = 1_000  # histories with the same assumptions
ALONE_IN: Final = 250  # histories; one of them is analysed alone
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
FILES: Final = 40  # at most, for joined histories
CUT_OFTEN: Final = 20  # histories of a block that are joined to a history with as many files
FILES_OF_ONE: Final = 12
CUTS: Final = 3  # random splits of a history that is analysed alone

Catalogue = Callable[[Declarations], tuple[Anomaly, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A result in which the analysis differs from the definitions, if the histories with the
    numbers `numbers` are analysed together.
    """

    numbers: tuple[int, ...]
    of: str  # the id of an anomaly, "assumptions", or "delivery semantics"

    def __str__(self) -> str:
        return f"history {' with '.join(map(str, self.numbers))}: {self.of} differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A group of histories that is analysed together, and the anomalies to compare.

    `made` has the histories by their numbers.
    """

    made: Mapping[int, History]
    anomalies: Catalogue

    def differences(self) -> tuple[Counter[str], list[Difference]]:
        """Returns the number of occurrences of each anomaly, and the results that differ."""
        found, differing = Counter[str](), list[Difference]()
        for numbers in self._together():
            try:
                rows, names = self._compared(numbers, cuts=CUTS if len(numbers) == 1 else 1)
                differing += self._bisected(numbers, names)
            except Exception as fault:
                fault.add_note(f"while comparing histories {numbers}")
                raise
            found += rows
        return found, differing

    # A history that breaks an assumption hides the anomalies of all histories joined to it.
    def _together(self) -> Iterator[list[int]]:
        alone = [n for n in self.made if n % ALONE_IN == n // ALONE_IN % ALONE_IN]
        others = [n for n in self.made if n not in alone]
        broken = [n for n in others if any(one.find(self.made[n]) for one in ASSUMPTIONS)]
        sound = [n for n in others if n not in broken]
        for number in alone:
            yield [number]
        yield from filter(None, (broken, sound[:CUT_OFTEN], sound[CUT_OFTEN:]))

    def _bisected(self, numbers: list[int], names: list[str]) -> list[Difference]:
        found: list[Difference] = []
        if names and len(numbers) > 1:
            middle = len(numbers) // 2
            for half in (numbers[:middle], numbers[middle:]):
                found += self._bisected(half, self._compared(half)[1])
        left = [name for name in names if name not in {one.of for one in found}]
        return [*found, *(Difference(numbers=tuple(numbers), of=name) for name in left)]

    def _compared(self, numbers: list[int], cuts: int = CUTS) -> tuple[Counter[str], list[str]]:
        found, differing = Counter[str](), list[str]()
        for nth in range(cuts):
            found, differing = self._compared_in(nth, numbers)
            if differing:
                break
        return found, differing

    def _compared_in(self, cut_number: int, numbers: list[int]) -> tuple[Counter[str], list[str]]:
        declared, as_one = _declared(numbers), joined([self.made[number] for number in numbers])
        rng = _random("cut", numbers[0] * CUTS + cut_number)
        analysis = analysis_of(
            partitioned(as_one.whole, rng, files=FILES if len(numbers) > 1 else FILES_OF_ONE),
            self.anomalies(declared),
            name="generated",
            declared=declared,
            shuffle_partitions=rng.randrange(1, 4),
        )
        return _compared(analysis, as_one.mapped(declared.applied), declared)


def _random(purpose: str, number: int) -> random.Random:
    return random.Random(f"{purpose} {number}")


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
    analysis: Analysis, as_one: Joined, declared: Declarations
) -> tuple[Counter[str], list[str]]:
    rows_of = {
        one.id: rows for one in ASSUMPTIONS if (rows := as_one.rows_of_each_history(one.find))
    }
    found = Counter({name: len(rows) for name, rows in rows_of.items()})
    if not _same_broken(analysis.broken, rows_of):
        return found, ["assumptions"]
    decided = () if analysis.broken else analysis.decisions
    literal = _Literal.of([it.anomaly for it in decided], as_one, declared)
    found.update(it.semantics for it in literal.delivered)
    differing = [] if analysis.delivered == tuple(literal.delivered) else [DELIVERY]
    if not any(literal.observed.values()):
        return found, differing + [
            it.anomaly.id for it in analysis.decisions if it.verdict != "undecided"
        ]
    for it in analysis.decisions:
        rows, observed = literal.rows[it.anomaly.id], literal.observed[it.anomaly.id]
        found[it.anomaly.id] = len(rows)
        verdict = verdict_on(len(rows), observed)
        permitted = bool(rows) and not declared.conditions().isdisjoint(it.anomaly.permits)
        same = as_rows(it.rows, it.anomaly.row) == worst_first(rows)
        decision = (it.verdict, it.permitted, it.observations)
        if not same or decision != (verdict, permitted, observed):
            differing.append(it.anomaly.id)
    return found, differing


def _same_broken(broken: Sequence[BrokenAssumption], rows_of: Mapping[str, list[Any]]) -> bool:
    if {it.assumption.id for it in broken} != set(rows_of):
        return False
    for it in broken:
        rows = tuple(sorted(rows_of[it.assumption.id]))
        if (it.count, it.rows) != (len(rows), rows[:KEPT]):
            return False
        if as_rows(it.every, type(rows[0])) != rows:
            return False
    return True


@dataclass(slots=True)
class _Literal:
    """The results of the literal definitions: one short, slow function for each anomaly.

    `rows` has the violations of each anomaly, and `observed` the number of operations that were
    checked.
    """

    rows: defaultdict[str, list[Any]] = field(default_factory=partial(defaultdict, list))
    observed: Counter[str] = field(default_factory=Counter[str])
    delivered: list[Delivery] = field(default_factory=list[Delivery])

    @classmethod
    def of(cls, anomalies: Sequence[Anomaly], as_one: Joined, declared: Declarations) -> _Literal:
        found = cls()
        if not anomalies:
            return found
        of_whole = [one for one in anomalies if one.observes == "history"]
        of_each = [one for one in anomalies if one.observes != "history"]
        # The definitions share the facts of one history, so each history is finished in turn.
        for which, h in enumerate(as_one.each):
            for one in of_each:
                found.rows[one.id] += as_one.rows_of(which, one.find)
                found.observed[one.id] += one.observed(h)
            found.delivered += as_one.rows_of(which, partial(deliveries, declared=declared))
        for one in of_whole:
            found.rows[one.id] += one.find(as_one.whole)
        # All keys without a topic count as one topic, which has more keys in the joined history.
        for one in anomalies:
            if one in of_whole or one.id == "duplicate-across-keys":
                found.observed[one.id] = one.observed(as_one.whole)
        found.delivered.sort(key=lambda it: it.application)
        return found


def campaign(
    histories: int, seed: int, processes: int, anomalies: Catalogue = catalogue
) -> Iterator[tuple[int, Counter[str], list[Difference]]]:
    """Compares the histories from number `seed` on, in groups that share their assumptions.

    Yields, for each group, the number of histories and of violations so far, and the differences in
    this group.
    """
    end = seed + histories
    blocks = [
        range(max(seed, first), min(end, first + BLOCK))
        for first in range(seed - seed % BLOCK, end, BLOCK)
    ]
    done, found = 0, Counter[str]()
    with ProcessPoolExecutor(processes) as pool:
        of_each = pool.map(partial(_differences, anomalies), blocks)
        try:
            for numbers, (rows, differing) in zip(blocks, of_each, strict=True):
                done, found = done + len(numbers), found + rows
                yield done, found, differing
        finally:  # the caller may end the campaign early
            pool.shutdown(cancel_futures=True)


def _differences(anomalies: Catalogue, numbers: range) -> tuple[Counter[str], list[Difference]]:
    made = {number: KINDS[number % len(KINDS)](number) for number in numbers}
    return Block(made=made, anomalies=anomalies).differences()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.agreement")
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, help="end after this time")
    parser.add_argument(
        "--seed", type=int, help="number of the first history; default: continue the last campaign"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    campaigns: list[Mapping[str, Any]] = json.loads(KEPT_IN.read_text())["campaigns"]
    before = continued(campaigns, arguments.seed)
    others = [one for one in campaigns if one["seed"] != before["seed"]]
    began = time.perf_counter()
    facts: Mapping[str, Any] = before
    first = before["seed"] + before["histories"]
    for done, found, differing in campaign(arguments.histories, first, arguments.processes):
        seconds = time.perf_counter() - began
        facts = {
            "seed": before["seed"],
            "histories": before["histories"] + done,
            "differences": facts["differences"] + len(differing),
            "seconds": before["seconds"] + round(seconds),
            "rows": dict(sorted((Counter(before["rows"]) + found).items())),
        }
        sys.stdout.writelines(f"{one}\n" for one in differing)
        over = arguments.seconds is not None and seconds >= arguments.seconds
        if done % KEPT_EVERY and done < arguments.histories and not over:
            continue
        kept = [*others, facts]
        file = write_results("agreement", [], {"campaigns": kept})
        total, differ = (sum(one[name] for one in kept) for name in ("histories", "differences"))
        sys.stdout.write(f"{total:,} histories, {differ} differences; kept in {file}\n")
        sys.stdout.flush()
        if over:
            break
    return 1 if facts["differences"] else 0


def continued(campaigns: Sequence[Mapping[str, Any]], seed: int | None) -> Mapping[str, Any]:
    """Returns the recorded campaign (a series of compared histories) whose first history has the
    number `seed`.

    If `seed` is None, returns the campaign whose first history has the highest number. If there is
    no such campaign, returns a new one with counts of zero.
    """
    known = [one for one in campaigns if seed in (None, one["seed"])]
    new = {"seed": seed or 0, "histories": 0, "differences": 0, "seconds": 0, "rows": {}}
    return max(known, key=lambda one: int(one["seed"]), default=new)


if __name__ == "__main__":
    sys.exit(main())
