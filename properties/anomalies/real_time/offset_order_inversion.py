"""A send got an offset below a log end that had been observed before the send began.

The end of a log only moves forward. A send, a poll or a request for the end offset in any process
may observe the end. If a send begins after such an observation, its offset must be at or above the
observed end. Operations that overlap in time may get their offsets in any order.

If a send was not acknowledged, its offset is the lowest offset at which a successful poll returned
the value. A send that failed has no offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.real_time.reach import By, furthest, is_known, reached
from properties.anomalies.rendering import in_ms, render

KNOWN_BY: Final[Mapping[By, str]] = {
    "send": "a send was acknowledged at",
    "poll": "a poll returned the record at",
    "end_offset": "the end was read as",
}


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetOrderInversion:
    """A send whose offset is below a log end that was observed before the send was invoked."""

    key: str
    offset: int
    value: str
    op: int
    known_end: int
    known_from: By
    known_op: int

    @property
    def size(self) -> int:
        return self.known_end - 1 - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


@dataclass(frozen=True, slots=True, kw_only=True)
class _Located:
    key: str
    value: str
    offset: int
    op: int


def _located(history: History) -> Iterator[_Located]:
    polled: dict[tuple[str, str], int] = {}
    for operation in history:
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok" and micro.offset is not None:
                lowest = polled.get((micro.key, micro.value), micro.offset)
                polled[micro.key, micro.value] = min(lowest, micro.offset)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if not isinstance(micro, Send) or operation.outcome == "fail":
                continue
            offset = micro.offset if operation.outcome == "ok" else None
            if offset is None:
                offset = polled.get((micro.key, micro.value))
            if offset is not None:
                yield _Located(key=micro.key, value=micro.value, offset=offset, op=number)


def inversions(history: History) -> tuple[OffsetOrderInversion, ...]:
    facts = list(reached(history))
    rows: list[OffsetOrderInversion] = []
    for send in _located(history):
        began_ns = history[send.op].invoked_ns
        before = [fact for fact in facts if fact.breaks(send.key, send.offset, began_ns)]
        if before:
            known = furthest(before)
            rows.append(
                OffsetOrderInversion(
                    key=send.key,
                    offset=send.offset,
                    value=send.value,
                    op=send.op,
                    known_end=known.end,
                    known_from=known.by,
                    known_op=known.op,
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    facts = list(reached(history))
    return sum(is_known(facts, it.key, history[it.op].invoked_ns) for it in _located(history))


def explain(row: OffsetOrderInversion, operations: Mapping[int, Operation]) -> str:
    known, send = operations[row.known_op], operations[row.op]
    by_end = row.known_from == "end_offset"
    shown = row.known_end if by_end else row.known_end - 1
    beyond = "at or above that end" if by_end else "above that record"
    return "\n".join(
        (
            f"key {row.key}: {KNOWN_BY[row.known_from]} offset {shown} by "
            f"{in_ms(known.completed_ns)}; a send that began later, at {in_ms(send.invoked_ns)}, "
            f"got offset {row.offset}, which is not {beyond}.",
            f"  before  {render(operations, row.known_op, row.key, offset=shown)}",
            f"  send    {render(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="offset-order-inversion",
    statement="A send that begins after a record was acknowledged or read gets a higher offset.",
    rule=(
        "A send got offset o although, before it was invoked, another operation had completed that "
        "acknowledged or polled a record at offset o or above, or read a log end above o."
    ),
    explanation=(
        "The log was truncated and assigned its offsets again, or two leaders assigned offsets at "
        "the same time."
    ),
    permits={},
    source="claims: linearizable_offsets; Herlihy and Wing, linearizability",
    observes="sends that got an offset after an end of their log was known",
    row=OffsetOrderInversion,
    find=inversions,
    observed=observed,
    explain=explain,
)
