"""Delivery semantics: whether a history is at-most-once, at-least-once or exactly-once.

A history satisfies a semantics if each of its applications does. An application is a consumer
group, or a process that consumes without a group.

    at-most-once    no record was delivered twice
    at-least-once   no record was skipped
    exactly-once    both

A record, identified by key and value, is *delivered* by an operation that received it and ended
`ok`. If a producer's retry appends a record again, and both copies are delivered, the record was
delivered twice. So was a record that the application received again after a seek.

A record is *skipped* if its send must have taken effect, but the application did not receive it. An
operation that ended `fail` received nothing. Only offsets between the lowest received one and the
highest delivered one are checked, because later records may still arrive. Records that retention
may have deleted do not count as skipped.

Source: docs/sources.md D0; claims: at_most_once, at_least_once, exactly_once_publish,
exactly_once_pipeline, rewind_redelivers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from model.histories import History, Operation, Poll
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.observations import KeyValue, committed_sends, locations
from properties.anomalies.rendering import render
from properties.anomalies.retention import kept_from

Promise = Literal["at-most-once", "at-least-once"]  # exactly-once makes both
Semantics = Literal["exactly-once", "at-least-once", "at-most-once", "neither"]
_SEMANTICS: Final[Mapping[tuple[bool, bool], Semantics]] = {  # repeated, skipped
    (False, False): "exactly-once",
    (True, False): "at-least-once",
    (False, True): "at-most-once",
    (True, True): "neither",
}


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class DeliveredAt:
    """A delivery of a record: the operation, and the poll's position among its micro-operations."""

    op: int
    position: int
    offset: int | None  # None if the history does not have it

    @property
    def at_offset(self) -> str:
        return "at an unknown offset" if self.offset is None else f"at offset {self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    application: str  # `group orders` or `process 7`
    key: str
    value: str
    first: DeliveredAt
    second: DeliveredAt

    @property
    def ops(self) -> tuple[int, ...]:
        return self.first.op, self.second.op

    def in_words(self) -> str:
        return (
            f"at-most-once is broken: {self.application} received {self.value} of {self.key} "
            f"{self._twice()}"
        )

    def _twice(self) -> str:
        first, second = self.first, self.second
        if first.op != second.op:
            return (
                f"by operation {first.op} {first.at_offset} and again by operation {second.op} "
                f"{second.at_offset}"
            )
        if first.offset != second.offset:
            return f"twice by operation {first.op}: {first.at_offset} and {second.at_offset}"
        places = f"micro-operations {first.position} and {second.position}"
        return f"twice by operation {first.op} {first.at_offset}: by its {places}"

    def shown(self, operations: Mapping[int, Operation]) -> tuple[str, ...]:
        return tuple(
            f"  read    {render(operations, op, self.key, value=self.value)}"
            for op in dict.fromkeys(self.ops)
        )


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Skip:
    """The evidence of a skip: the record's send, and the delivery of a later record."""

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
        return (
            f"at-least-once is broken: {self.application} never received {self.value}, which "
            f"operation {self.writer_op} sent to {self.key} at offset {self.offset}, though "
            f"operation {self.beyond_op} received offset {self.beyond_offset}"
        )

    def shown(self, operations: Mapping[int, Operation]) -> tuple[str, ...]:
        return (
            f"  sent    {render(operations, self.writer_op, self.key, value=self.value)}",
            f"  beyond  {render(operations, self.beyond_op, self.key, offset=self.beyond_offset)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The deliveries to one application: counts, and examples of a repetition and of a skip.

    The repetition is the one that completed first. The skipped record has the lowest topic
    partition, and there the lowest offset.
    """

    application: str
    records: int  # different records delivered
    repeated: int  # of these, delivered more than once
    skipped: int
    repetition: Repetition | None
    skip: Skip | None

    @property
    def semantics(self) -> Semantics:
        """The strongest semantics that the application satisfies, or `neither`."""
        return _SEMANTICS[self.repeated > 0, self.skipped > 0]


def strongest(
    deliveries: Iterable[Delivery], contradicted: Collection[Promise] = ()
) -> Semantics | None:
    """Returns the strongest semantics that every application satisfies; None without applications.

    The result is `neither` if some record was repeated and some record was skipped. A promise in
    `contradicted` counts as broken.
    """
    some = tuple(deliveries)
    if not some:
        return None
    repeated = "at-most-once" in contradicted or any(it.repeated for it in some)
    skipped = "at-least-once" in contradicted or any(it.skipped for it in some)
    return _SEMANTICS[repeated, skipped]


def breaking(deliveries: Iterable[Delivery]) -> tuple[Skip | Repetition, ...]:
    """Returns one skipped record and one repeated record as examples, if there are any.

    The skipped record is from the application that skipped most records, the repeated one from that
    with most repeated records.
    """
    some = sorted(deliveries, key=lambda it: it.application)
    skips = max(some, key=lambda it: it.skipped, default=None)
    repeats = max(some, key=lambda it: it.repeated, default=None)
    return (
        *((skips.skip,) if skips and skips.skip else ()),
        *((repeats.repetition,) if repeats and repeats.repetition else ()),
    )


def application(operation: Operation) -> str:
    """Returns the operation's consumer group or, without one, its process."""
    if operation.group is not None:
        return f"group {operation.group}"
    return f"process {operation.process}"


@dataclass(frozen=True, slots=True, order=True)
class _Received:
    op: int
    position: int
    key: str
    offset: int | None
    value: str


def _received(history: History, name: str) -> Iterator[_Received]:
    for number, operation in enumerate(history):
        if application(operation) == name:
            for position, micro in enumerate(operation.did):
                if isinstance(micro, Poll):
                    yield _Received(number, position, micro.key, micro.offset, micro.value)


def _delivered(history: History, name: str) -> dict[KeyValue, list[_Received]]:
    delivered: defaultdict[KeyValue, list[_Received]] = defaultdict(list)
    for it in _received(history, name):
        if history[it.op].outcome == "ok":
            delivered[it.key, it.value].append(it)
    return dict(delivered)


def _repetition(name: str, received: list[_Received]) -> Repetition:
    first, second, *_ = received
    return Repetition(
        application=name,
        key=first.key,
        value=first.value,
        first=DeliveredAt(op=first.op, position=first.position, offset=first.offset),
        second=DeliveredAt(op=second.op, position=second.position, offset=second.offset),
    )


def _skips(history: History, name: str, declared: Declarations) -> Iterator[Skip]:
    kept, sent = kept_from(history, declared), committed_sends(history)
    received = list(_received(history, name))
    has = {(it.key, it.value) for it in received if history[it.op].outcome != "fail"}
    for (key, value), offsets in locations(history).items():
        of_key = [it for it in received if it.key == key and it.offset is not None]
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
    """Returns the deliveries to each application that received a record, ordered by name."""
    made: list[Delivery] = []
    for name in sorted({application(operation) for operation in history}):
        delivered = _delivered(history, name)
        if not delivered:
            continue
        repeated = [some for some in delivered.values() if len(some) > 1]
        twice = min(repeated, key=lambda some: some[1], default=None)
        skips = list(_skips(history, name, declared))
        made.append(
            Delivery(
                application=name,
                records=len(delivered),
                repeated=len(repeated),
                skipped=len(skips),
                repetition=_repetition(name, twice) if twice else None,
                skip=min(skips, default=None),
            )
        )
    return tuple(made)


def explain(broken: Iterable[Skip | Repetition], operations: Mapping[int, Operation]) -> str:
    """Returns a sentence for each skip and repetition, followed by the operations that prove it."""
    return "\n".join(line for it in broken for line in (it.in_words(), *it.shown(operations)))
