"""G1b: a reader received part of a transaction, then a later record, but never the last part.

A poll may return only the first records of a transaction. In that case, the next poll continues
after these records. Or the reader stops for good, or loses the topic partition to another reader.
None of these cases is an anomaly. A read is intermediate if three things are true:

- A process polled a value that the transaction sent to a topic partition.
- The next value that the process polled from this topic partition comes after the last value that
  the transaction sent to the topic partition. So the process skipped a record (`order.skip`).
- The process never polled this last value.

`observed` counts the steps at which the anomaly could occur. A step (`steps`) is a pair of values
that a process polled in direct succession. The first value must be from a transaction that also
sent a later record to the same topic partition.

Source: Adya's G1b; jepsen.tests.kafka discusses G1b for a log but does not decide it.
Simplified: only the transaction's last value of the topic partition is checked. A reader that
missed other values of the transaction is reported as the anomaly `skip`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.cycles.dependencies import sender_of
from properties.anomalies.declarations import NOTHING_DECLARED, SUBSCRIBE, Declarations
from properties.anomalies.observations import locations, observations
from properties.anomalies.order.skip import skips
from properties.anomalies.order.steps import polls_between, polls_within
from properties.anomalies.rendering import render
from properties.anomalies.retention import kept_from

ID: Final = "G1b"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class IntermediateRead:
    """A read of part of a transaction. The reader received a value of the transaction, and then a
    record at a higher offset of the topic partition. But it never received the last value that the
    transaction sent to the topic partition.
    """

    key: str
    reader_op: int  # polled the value
    value: str
    offset: int
    next_op: int  # polled the next value
    next_value: str
    next_offset: int
    writer_op: int
    last_value: str
    last_offset: int

    @property
    def size(self) -> int:
        return self.last_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.writer_op, self.reader_op, self.next_op)))


_STEPS: Final = (polls_within, polls_between)


def intermediate_reads(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[IntermediateRead, ...]:
    kept, located, sender = kept_from(history, declared), locations(history), sender_of(history)
    steps = chain.from_iterable(skips(history, found, declared) for found in _STEPS)
    rows: list[IntermediateRead] = []
    for step in steps:
        writer = sender.get((step.key, step.first_value))
        if writer is None or history[writer].f != "txn" or history[writer].outcome == "fail":
            continue
        sent = {m.value for m in history[writer].did if isinstance(m, Send) and m.key == step.key}
        placed = [
            (located[step.key, value][-1], value) for value in sent if (step.key, value) in located
        ]
        if not placed:
            continue
        last_offset, last_value = max(placed)
        process = history[step.second_op].process
        if not step.first_offset < last_offset < step.second_offset or last_offset < kept(step.key):
            continue
        if (step.key, last_value) not in _polled_by(history, process):
            rows.append(
                IntermediateRead(
                    key=step.key,
                    reader_op=step.first_op,
                    value=step.first_value,
                    offset=step.first_offset,
                    next_op=step.second_op,
                    next_value=step.second_value,
                    next_offset=step.second_offset,
                    writer_op=writer,
                    last_value=last_value,
                    last_offset=last_offset,
                )
            )
    return tuple(sorted(rows))


def _polled_by(history: History, process: int) -> set[tuple[str, str]]:
    return {
        (micro.key, micro.value)
        for operation in history
        if operation.process == process
        for micro in operation.did
        if isinstance(micro, Poll)
    }


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    parts = _parts(history, declared)
    steps = chain.from_iterable(found(history, declared) for found in _STEPS)
    return sum((step.key, step.first_offset) in parts for step in steps)


def _parts(history: History, declared: Declarations) -> set[tuple[str, int]]:
    """Returns the (topic partition, offset) of each intermediate record.

    A record is intermediate if its transaction sent a later record to the same topic partition. If
    retention may have deleted the last record that the transaction sent to the topic partition, the
    intermediate records are not included.
    """
    kept, located, seen = kept_from(history, declared), locations(history), observations(history)
    parts: set[tuple[str, int]] = set()
    for operation in history:
        if operation.f != "txn" or operation.outcome == "fail":
            continue
        sent = {(micro.key, micro.value) for micro in operation.did if isinstance(micro, Send)}
        last: dict[str, int] = {}
        for key, value in sent & located.keys():
            last[key] = max(located[key, value][-1], last.get(key, 0))
        parts |= {
            (one.key, one.offset)
            for one in seen
            if (one.key, one.value) in sent and one.key in last
            if one.offset < last[one.key] and kept(one.key) <= last[one.key]
        }
    return parts


def explain(row: IntermediateRead, operations: Mapping[int, Operation]) -> str:
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.reader_op].process} polled {row.value} at "
            f"offset {row.offset} and then {row.next_value} at offset {row.next_offset}, but never "
            f"{row.last_value} at offset {row.last_offset}, the last record that the transaction "
            f"of {row.value} sent to the key.",
            f"  sent  {render(operations, row.writer_op, row.key)}",
            f"  read  {render(operations, row.reader_op, row.key, value=row.value)}",
            f"  next  {render(operations, row.next_op, row.key, value=row.next_value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id=ID,
        statement=(
            "A reader that sees part of a transaction sees its last record before any later record."
        ),
        rule=(
            "A process polled a value of a transaction that did not fail and then, with the key "
            "still assigned to it, a record above the transaction's last value of that key, and "
            "never polled that last value."
        ),
        explanation=(
            "The reader has only part of the transaction: the rest was hidden when the reader "
            "passed, or became visible later than the first part."
        ),
        permits={SUBSCRIBE: "a rebalance between two polls may move the key away and back"},
        source="Adya, Weak Consistency, G1b",
        observes="steps of readers from a record of a transaction before its last one of the key",
        row=IntermediateRead,
        find=partial(intermediate_reads, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )
