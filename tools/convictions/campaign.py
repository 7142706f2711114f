"""Simulates histories with planted faults and bugs, analyzes them, and counts the anomalies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Final

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.columnar.rows import as_rows
from checkers.histories.io.operation_rows import as_table
from model.histories import History
from properties.anomalies.declarations import Declarations
from reference_impl.simulation.runs import run
from reference_impl.simulation.world import NoProgress
from tests.checkers.histories.joined_histories import joined
from tools.convictions.cases import Case
from tools.convictions.record import JUDGED, Outcome, Tally

BATCH: Final = 64  # histories that are started at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Unraised:
    """The anomalies that a seeded bug can cause by its row, but that no history shows."""

    bug: str
    anomalies: tuple[str, ...]
    histories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A wrong result of a case.

    The symptom is an anomaly that the planted fault does not cause, directly or through another
    anomaly. Or it is a verdict that judges no anomaly: `assumptions broken`, a defect of the
    workload, or `no progress` without a bug, a defect of the simulation.
    """

    case: Case
    symptom: str
    histories: int
    first_seed: int


def conduct(some: Sequence[tuple[Case, int]]) -> list[Outcome]:
    """Returns the outcome of each pair of a case and a seed, in the order of `some`.

    The verdict is `no progress` if the simulated cluster does not recover. Each analysis has a
    fixed cost, so histories with the same assumptions (`declared`) are joined and analyzed
    together. A violation belongs to the history that contains its operations.
    """
    outcomes: dict[tuple[str, int], Outcome] = {}
    recorded: dict[Declarations, list[_Recorded]] = {}
    for case, seed in some:
        try:
            history = run(case.scenario(seed)).history
        except NoProgress:
            stuck = Outcome(case=case.name, seed=seed, verdict="no progress")
            outcomes[case.name, seed] = stuck
        else:
            recorded.setdefault(case.declared, []).append(_Recorded(case, seed, history))
    for declared, together in recorded.items():
        for outcome in _judged(together, declared):
            outcomes[outcome.case, outcome.seed] = outcome
    return [outcomes[case.name, seed] for case, seed in some]


@dataclass(frozen=True, slots=True)
class _Recorded:
    case: Case
    seed: int
    history: History

    def outcome(self, verdict: str, raised: Iterable[str] = ()) -> Outcome:
        return Outcome(case=self.case.name, seed=self.seed, verdict=verdict, raised=tuple(raised))


def _judged(together: Sequence[_Recorded], declared: Declarations) -> Iterator[Outcome]:
    as_one = joined([one.history for one in together])
    found = analyze(as_table(as_one.whole), declared=declared)
    if found.broken and len(together) > 1:  # the others are hidden
        for one in together:
            yield from _judged([one], declared)
        return
    violated = [it for it in found.decisions if it.verdict == "violated" and not it.permitted]
    names_of: dict[int, dict[str, None]] = {}  # op of the joined history -> anomalies
    for it in violated:
        for row in as_rows(it.rows, it.anomaly.row):
            names_of.setdefault(row.ops[0], {})[it.anomaly.id] = None
    for one, numbers in zip(together, as_one.numbers, strict=True):
        raised = {name: None for op in numbers for name in names_of.get(op, ())}
        if found.broken:
            yield one.outcome(found.verdict)
        elif raised:
            yield one.outcome(
                "violated", (it.anomaly.id for it in violated if it.anomaly.id in raised)
            )
        else:
            seen = any(it.anomaly.observed(one.history) for it in found.decisions)
            yield one.outcome("holds" if seen else "nothing checked")


def analysis(case: Case, seed: int) -> Analysis:
    return analyze(as_table(run(case.scenario(seed)).history), declared=case.declared)


def outcomes(
    cases: Iterable[Case],
    tallies: Mapping[str, Tally],
    *,
    until: float,
    jobs: int,
    batch: int = BATCH,
) -> Iterator[Outcome]:
    """Yields the outcomes of all cases, one seed after another. The histories are simulated in
    groups of `batch` histories.

    At least one group is simulated. No further group begins after the monotonic time `until`.
    """
    todo = _todo(tuple(cases), tallies)
    with ProcessPoolExecutor(jobs) as pool:
        while True:
            some = [next(todo) for _ in range(batch)]
            size = -(-batch // jobs)
            shares = [some[first : first + size] for first in range(0, batch, size)]
            for of_share in pool.map(conduct, shares):
                yield from of_share
            if time.monotonic() >= until:
                return


def _todo(cases: tuple[Case, ...], tallies: Mapping[str, Tally]) -> Iterator[tuple[Case, int]]:
    done = {case.name: tallies[case.name].histories for case in cases if case.name in tallies}
    for seed in count(min((done.get(case.name, 0) for case in cases), default=0)):
        yield from ((case, seed) for case in cases if done.get(case.name, 0) <= seed)


def defects(cases: Iterable[Case], tallies: Mapping[str, Tally]) -> Iterator[Defect]:
    """Yields each anomaly that the fault of its case does not explain, and each verdict that judges
    no anomaly. With a bug, the verdict `no progress` is no defect: a bug may stop a cluster.
    """
    for case in cases:
        tally = tallies.get(case.name)
        if tally is not None:
            allowed = JUDGED | ({"no progress"} if case.kind == "bug" else set())
            wrong = {name: n for name, n in tally.raised.items() if name not in case.explained}
            wrong |= {name: n for name, n in tally.verdicts.items() if name not in allowed}
            for symptom, histories in sorted(wrong.items()):
                yield Defect(
                    case=case,
                    symptom=symptom,
                    histories=histories,
                    first_seed=tally.first[symptom],
                )


def unraised(cases: Iterable[Case], tallies: Mapping[str, Tally]) -> Iterator[Unraised]:
    """Yields each recorded bug with the promised anomalies that no history of the bug shows."""
    histories: Counter[str] = Counter()
    missing: dict[str, frozenset[str]] = {}
    for case in cases:
        tally = tallies.get(case.name)
        if case.kind == "bug" and tally is not None:
            histories[case.planted] += tally.histories
            missing[case.planted] = missing.get(case.planted, case.promised) - tally.raised.keys()
    for bug, anomalies in missing.items():
        if anomalies:
            yield Unraised(bug=bug, anomalies=tuple(sorted(anomalies)), histories=histories[bug])
