"""Simulates histories with one planted fault or none, analyzes them, and counts the anomalies."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Final

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.recorded import as_table
from reference_impl.simulation.runs import run
from reference_impl.simulation.world import NoProgress
from tools.convictions.cases import Case
from tools.convictions.record import Outcome, Tally

BATCH: Final = 64  # histories that are started at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """A defect of the analysis: an anomaly that the planted fault of a history does not explain.

    The anomaly is neither an effect of the fault nor a consequence of such an effect.
    """

    case: Case
    anomaly: str
    histories: int
    first_seed: int


def conduct(case: Case, seed: int) -> Outcome:
    """Records and analyzes a case's simulated history for a seed; the verdict is `no progress` if
    the cluster does not recover.
    """
    try:
        found = analysis(case, seed)
    except NoProgress:
        return Outcome(case=case.name, seed=seed, verdict="no progress")
    raised = tuple(
        one.anomaly.id for one in found.decisions if one.verdict == "violated" and not one.permitted
    )
    return Outcome(case=case.name, seed=seed, verdict=found.verdict, raised=raised)


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
    """Yields the outcomes of all cases, seed after seed, until the monotonic time `until`.

    The cases run in batches of `batch` histories; the last batch may end after `until`.
    """
    todo = _todo(tuple(cases), tallies)
    with ProcessPoolExecutor(jobs) as pool:
        while time.monotonic() < until:
            some = [next(todo) for _ in range(batch)]
            yield from pool.map(conduct, *zip(*some, strict=True))


def _todo(cases: tuple[Case, ...], tallies: Mapping[str, Tally]) -> Iterator[tuple[Case, int]]:
    done = {case.name: tallies[case.name].histories for case in cases if case.name in tallies}
    for seed in count(min((done.get(case.name, 0) for case in cases), default=0)):
        yield from ((case, seed) for case in cases if done.get(case.name, 0) <= seed)


def defects(cases: Iterable[Case], tallies: Mapping[str, Tally]) -> Iterator[Defect]:
    """Yields, for each case, the anomalies that the analysis found and its fault does not explain.

    A case is a kind of simulated history with one planted fault, or none.
    """
    for case in cases:
        tally = tallies.get(case.name)
        if tally is not None:
            for anomaly, histories in sorted(tally.raised.items()):
                if anomaly not in case.explained:
                    yield Defect(
                        case=case,
                        anomaly=anomaly,
                        histories=histories,
                        first_seed=tally.first[anomaly],
                    )
