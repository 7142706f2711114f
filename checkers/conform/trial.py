"""Compares the answers of the reference broker (Urteil's own broker) with the answers of another
system, and summarises the differences.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from checkers.conform.campaign import Compared, Pair, Side, run
from checkers.conform.compare import Difference
from checkers.conform.live import Live
from checkers.conform.reason import Reason, Verdict
from checkers.conform.recording import Recorded, Recording
from checkers.conform.steps import Begin, Collect, Pause, Steps
from checkers.conform.target import Target
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

REFERENCE: Final = "the reference broker"
WORKERS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    difference: Difference
    compared: Compared
    pair: Pair


@dataclass(slots=True)
class Found:
    """The result of the comparison of two systems: counts, and one example of each kind of
    difference.

    - `examples` has one example for each known reason that explained a difference.
    - `findings` has the examples in which the other system is wrong, not the reference broker.
    - `unexplained` has one example for each kind of difference without a known reason.
    """

    sent: Counter[str] = field(default_factory=Counter[str])  # by family
    alike: int = 0  # compared pairs without a difference
    compared: Counter[str] = field(default_factory=Counter[str])
    explained: Counter[str] = field(default_factory=Counter[str])  # by the name of the reason
    unexplained: dict[tuple[object, ...], Example] = field(
        default_factory=dict[tuple[object, ...], Example]
    )
    findings: dict[str, Example] = field(default_factory=dict[str, Example])  # by reason
    examples: dict[str, Example] = field(default_factory=dict[str, Example])  # by reason
    broken: Counter[str] = field(default_factory=Counter[str])  # unexplained, by family

    def add(self, compared: Compared) -> None:
        family = compared.sequence.family
        for pair in compared.pairs:
            self.sent[family] += 1
            self.compared[family] += pair.compared
            self.alike += pair.compared and not pair.differences
            for name in {reason.name for reason in pair.explained if reason is not None}:
                self.explained[name] += 1
            self.broken[family] += bool(pair.unexplained)
            for one in pair.unexplained:
                kind = (one.send.api, one.send.note, one.field, str(one.system), str(one.reference))
                shown = Example(difference=one, compared=compared, pair=pair)
                self.unexplained.setdefault(kind, shown)
            for one, why in zip(pair.differences, pair.explained, strict=True):
                if why is None:
                    continue
                shown = Example(difference=one, compared=compared, pair=pair)
                self.examples.setdefault(why.name, shown)
                if why.verdict is Verdict.THEIRS:
                    self.findings.setdefault(why.name, shown)

    def stale(self, rows: Iterable[Reason]) -> list[str]:
        """Returns the names of those reasons in `rows` that explained none of the found
        differences.
        """
        return [row.name for row in rows if not self.explained[row.name]]

    def by_verdict(self, rows: Iterable[Reason]) -> dict[Verdict, int]:
        counts = Counter[Verdict]()
        for row in rows:
            counts[row.verdict] += self.explained[row.name]
        return {verdict: counts[verdict] for verdict in Verdict}


@contextmanager
def reference(brokers: int = 3) -> Generator[Target]:
    """Serves the reference broker (Urteil's own broker) until the `with` block ends, and creates
    the topics that all sequences of requests share.
    """
    begun_ms = round(time.time() * 1000)
    with serving(ServeOptions(brokers=brokers)) as served:
        yield Target.opened(REFERENCE, served.bootstrap_servers, _run_name(begun_ms), begun_ms)


def with_system(
    system: str,
    bootstrap_servers: str,
    sequences: Iterable[Steps],
    rows: Iterable[Reason],
    *,
    workers: int = WORKERS,
) -> Iterator[Compared]:
    """Sends sequences of requests to a running cluster and to the reference broker (Urteil's own
    broker), and yields the compared answers of each sequence.
    """
    with reference() as ours:
        theirs = Target.opened(system, bootstrap_servers, ours.run, ours.begun_ms)

        def sides(number: int, sequence: Steps) -> tuple[Side, Side]:
            return Live.begun(theirs, number, sequence), Live.begun(ours, number, sequence)

        yield from run(sequences, sides, rows, workers=workers)


def with_recording(
    recording: Recording, rows: Iterable[Reason], *, workers: int = WORKERS
) -> Iterator[Compared]:
    """Sends the requests of a recording to the reference broker (Urteil's own broker), and compares
    its answers with the recorded answers. Yields the comparison of each sequence of requests.
    """
    recorded = recording.sequences
    with reference() as ours:

        def sides(number: int, sequence: Steps) -> tuple[Side, Side]:
            return recorded[number], Live.begun(ours, number, sequence)

        yield from run((one.sequence for one in recorded), sides, rows, workers=workers)


def answers_of_system(compared: Compared) -> Recorded:
    """Returns the system's answers to a sequence of requests as a recording. The recording does not
    contain requests that the system does not support.
    """
    answers = {pair.index: pair.system for pair in compared.pairs}
    steps = compared.sequence.steps
    collected = {
        step.label
        for index, step in enumerate(steps)
        if isinstance(step, Collect) and index in answers
    }
    kept = [
        (index, step)
        for index, step in enumerate(steps)
        if index in answers
        or isinstance(step, Pause)
        or (isinstance(step, Begin) and step.label in collected)
    ]
    return Recorded(
        sequence=replace(compared.sequence, steps=tuple(step for _, step in kept)),
        answers={at: answers[index] for at, (index, _) in enumerate(kept) if index in answers},
    )


def _run_name(begun_ms: int) -> str:
    return f"conform{begun_ms % 10**9:x}-"
