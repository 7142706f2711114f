"""Delivery semantics: whether a history is at-most-once, at-least-once or exactly-once.

A history satisfies a semantics if each of its applications satisfies the semantics. An application
is a consumer group, or a process that consumes without a group. The table defines each semantics
for one application:

    at-most-once    no record was delivered twice
    at-least-once   no record was skipped
    exactly-once    both

A record is identified by its topic partition and its value. A record is *delivered* if an operation
received the record and ended `ok`. A record was delivered twice in each of these cases:

- The retry of a producer appended the record a second time, and the application received both
  copies.
- The application received the record, moved its position back (a seek), and received the record a
  second time.

A record is *skipped* if its send must have taken effect, but the application did not receive the
record. An operation that ended `fail` received nothing. A record is checked only if the application
received two other records of the topic partition: one at a lower or equal offset, and one that was
delivered at a higher offset. If no record at a higher offset was delivered, the record may still
arrive. A record that retention may have deleted is not skipped.

Source: docs/sources.md DOC0; claims: at_most_once, at_least_once, exactly_once_publish,
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
    """The place of a delivery: the operation, and the position of the poll in the operation.

    An operation is a list of micro-operations, such as sends and polls of single records.
    """

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
    """A record that an application skipped, and the two operations that prove the skip.

    The operation `writer_op` sent the record. The operation `beyond_op` of the application received
    a record at the higher offset `beyond_offset`.
    """

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
    """The deliveries to one application: counts, one example of a repetition, and one of a skip.

    The example of a repetition is the record whose second delivery came first in the history. The
    example of a skip is the skipped record of the first topic partition by name. If this topic
    partition has several skipped records, the example is the one with the lowest offset.
    """

    application: str
    records: int  # different records delivered
    repeated: int  # of these, delivered more than once
    skipped: int
    repetition: Repetition | None
    skip: Skip | None

    @property
    def semantics(self) -> Semantics:
        """The strongest semantics that the application satisfies. It is `neither` if the
        application satisfies none.
        """
        return _SEMANTICS[self.repeated > 0, self.skipped > 0]


def strongest(
    deliveries: Iterable[Delivery], contradicted: Collection[Promise] = ()
) -> Semantics | None:
    """Returns the strongest semantics that every application satisfies.

    Returns None if `deliveries` is empty. Returns `neither` if some record was repeated and some
    record was skipped, even if two different applications did so. A promise in `contradicted` is
    treated as broken, whatever the deliveries are.
    """
    some = tuple(deliveries)
    if not some:
        return None
    repeated = "at-most-once" in contradicted or any(it.repeated for it in some)
    skipped = "at-least-once" in contradicted or any(it.skipped for it in some)
    return _SEMANTICS[repeated, skipped]


def breaking(deliveries: Iterable[Delivery]) -> tuple[Skip | Repetition, ...]:
    """Returns at most two examples: one skipped record, and one record that was delivered twice.

    The skipped record is from the application that skipped the most records. The repeated record is
    from the application with the most repeated records. The result is empty if no record was
    skipped or repeated.
    """
    some = sorted(deliveries, key=lambda it: it.application)
    skips = max(some, key=lambda it: it.skipped, default=None)
    repeats = max(some, key=lambda it: it.repeated, default=None)
    return (
        *((skips.skip,) if skips and skips.skip else ()),
        *((repeats.repetition,) if repeats and repeats.repetition else ()),
    )


def application(operation: Operation) -> str:
    """Returns the name of the application that ran the operation, such as `group orders`.

    If the operation has no consumer group, the application is its process: `process 7`.
    """
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
    """Returns one `Delivery` for each application that received a record, ordered by application
    name.

    If no application received a record, the result is empty.
    """
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
    """Returns a text with one sentence for each skip and each repetition in `broken`. Below each
    sentence, the text shows the operations that prove it.
    """
    return "\n".join(line for it in broken for line in (it.in_words(), *it.shown(operations)))
