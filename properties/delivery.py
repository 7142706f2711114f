"""Delivery semantics: what a history satisfies of at-most-once, at-least-once and exactly-once.

Each application by itself: a consumer group, or a process that consumes in none. It was delivered
the records that its operations were given which ended `ok`; a transaction that aborted gives back
what it consumed.

    at-most-once    no record was delivered twice. A record is a value of a key: one that its
                    producer's retry put into the log again is delivered twice too
    at-least-once   no record was skipped: one that took effect and lies between the lowest offset
                    that the application was given and the highest that it was delivered, and that
                    no operation of it which did not fail was given
    exactly-once    both

A history satisfies what all of its applications do. What an application did with a record that it
was given no history tells; who seeks back is delivered again.

Not skipped is what the log may have dropped (`retention`), and nothing beyond what was delivered
last: it may come yet.

Source: Kafka's documentation, "Message Delivery Semantics"; claims: at_most_once, at_least_once,
exactly_once_publish, exactly_once_pipeline, rewind_redelivers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from model.histories import History, Operation, Poll
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.observations import KeyValue, committed_sends, locations
from properties.anomalies.rendering import render
from properties.anomalies.retention import kept_from

Semantics = Literal["exactly-once", "at-least-once", "at-most-once", "neither"]
_SEMANTICS: Final[Mapping[tuple[bool, bool], Semantics]] = {  # repeated, skipped
    (False, False): "exactly-once",
    (True, False): "at-least-once",
    (False, True): "at-most-once",
    (True, True): "neither",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A record that an application was delivered twice, and the two operations."""

    application: str  # `group orders` or `process 7`
    key: str
    value: str
    first_op: int
    second_op: int

    @property
    def ops(self) -> tuple[int, ...]:
        return self.first_op, self.second_op

    def in_words(self) -> str:
        """What it breaks."""
        return (
            f"at-most-once is broken: {self.application} was given {self.value} of {self.key} by "
            f"operation {self.first_op} and again by operation {self.second_op}"
        )

    def shown(self, operations: Mapping[int, Operation]) -> tuple[str, ...]:
        """Its operations."""
        return tuple(
            f"  given   {render(operations, op, self.key, value=self.value)}"
            for op in (self.first_op, self.second_op)
        )


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Skip:
    """A record that an application skipped, who sent it, and who was delivered a later one."""

    application: str
    key: str
    offset: int
    value: str
    writer_op: int
    beyond_offset: int
    beyond_op: int

    @property
    def ops(self) -> tuple[int, ...]:
        return self.writer_op, self.beyond_op

    def in_words(self) -> str:
        """What it breaks."""
        return (
            f"at-least-once is broken: {self.application} was never given {self.value}, which "
            f"operation {self.writer_op} sent to {self.key} at offset {self.offset}, though "
            f"operation {self.beyond_op} was given offset {self.beyond_offset}"
        )

    def shown(self, operations: Mapping[int, Operation]) -> tuple[str, ...]:
        """Its operations."""
        return (
            f"  sent    {render(operations, self.writer_op, self.key, value=self.value)}",
            f"  beyond  {render(operations, self.beyond_op, self.key, offset=self.beyond_offset)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What one application was delivered; of what was repeated and skipped the first record.

    The first repetition is the one that completed first, the first skip that of the first key, and
    there at the lowest offset.
    """

    application: str
    records: int  # different ones that it was delivered
    repeated: int  # of these more than once
    skipped: int
    repetition: Repetition | None
    skip: Skip | None

    @property
    def semantics(self) -> Semantics:
        """The strongest that holds; `neither` if it both repeats and skips."""
        return _SEMANTICS[self.repeated > 0, self.skipped > 0]


def strongest(deliveries: Iterable[Delivery]) -> Semantics | None:
    """The strongest that all of them satisfy; None if nobody was delivered anything."""
    some = tuple(deliveries)
    if not some:
        return None
    return _SEMANTICS[any(it.repeated for it in some), any(it.skipped for it in some)]


def breaking(deliveries: Iterable[Delivery]) -> tuple[Skip | Repetition, ...]:
    """What breaks at-least-once, and at-most-once: of whom it happened to most often."""
    some = sorted(deliveries, key=lambda it: it.application)
    skips = max(some, key=lambda it: it.skipped, default=None)
    repeats = max(some, key=lambda it: it.repeated, default=None)
    return (
        *((skips.skip,) if skips and skips.skip else ()),
        *((repeats.repetition,) if repeats and repeats.repetition else ()),
    )


def application(operation: Operation) -> str:
    """Whose consumer it is."""
    if operation.group is not None:
        return f"group {operation.group}"
    return f"process {operation.process}"


@dataclass(frozen=True, slots=True, order=True)
class _Given:
    op: int
    position: int
    key: str
    offset: int | None
    value: str


def _given(history: History, name: str) -> Iterator[_Given]:
    """Every record that operations of the application were given, however they ended."""
    for number, operation in enumerate(history):
        if application(operation) == name:
            for position, micro in enumerate(operation.did):
                if isinstance(micro, Poll):
                    yield _Given(number, position, micro.key, micro.offset, micro.value)


def _delivered(history: History, name: str) -> dict[KeyValue, list[_Given]]:
    """The deliveries of each record, in order of completion."""
    delivered: defaultdict[KeyValue, list[_Given]] = defaultdict(list)
    for it in _given(history, name):
        if history[it.op].outcome == "ok":
            delivered[it.key, it.value].append(it)
    return dict(delivered)


def _repetition(name: str, given: list[_Given]) -> Repetition:
    first, second, *_ = given
    return Repetition(
        application=name,
        key=first.key,
        value=first.value,
        first_op=first.op,
        second_op=second.op,
    )


def _skips(history: History, name: str, declared: Declarations) -> Iterator[Skip]:
    """Every record that the application skipped."""
    kept, sent = kept_from(history, declared), committed_sends(history)
    given = list(_given(history, name))
    has = {(it.key, it.value) for it in given if history[it.op].outcome != "fail"}
    for (key, value), offsets in locations(history).items():
        of_key = [it for it in given if it.key == key and it.offset is not None]
        last = min(
            ((-(it.offset or 0), it.op) for it in of_key if history[it.op].outcome == "ok"),
            default=None,
        )
        if last is None or (key, value) not in sent or (key, value) in has:
            continue
        lowest = max(min(it.offset or 0 for it in of_key), kept(key))
        if lowest <= offsets[-1] < -last[0]:
            yield Skip(
                application=name,
                key=key,
                value=value,
                offset=offsets[-1],
                writer_op=sent[key, value],
                beyond_offset=-last[0],
                beyond_op=last[1],
            )


def deliveries(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Delivery, ...]:
    """What each application was delivered that was delivered something, by name."""
    made: list[Delivery] = []
    for name in sorted({application(operation) for operation in history}):
        delivered = _delivered(history, name)
        if not delivered:
            continue
        again = [some for some in delivered.values() if len(some) > 1]
        twice = min(again, key=lambda some: some[1], default=None)
        skips = list(_skips(history, name, declared))
        made.append(
            Delivery(
                application=name,
                records=len(delivered),
                repeated=len(again),
                skipped=len(skips),
                repetition=_repetition(name, twice) if twice else None,
                skip=min(skips, default=None),
            )
        )
    return tuple(made)


def explain(broken: Iterable[Skip | Repetition], operations: Mapping[int, Operation]) -> str:
    """What breaks what, each with its operations."""
    return "\n".join(line for it in broken for line in (it.in_words(), *it.shown(operations)))
