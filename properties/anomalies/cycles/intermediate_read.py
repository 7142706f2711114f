"""G1b: a reader was given a part of a transaction, not its end, and read on behind it.

In Adya's words a reader saw a version that was not the last of its transaction. A poll of a log
returns a stretch, which may end inside a transaction: the next poll goes on there, and nothing is
wrong. Nor is it if the reader stops there for good, or loses the key to another. It is an
intermediate read once the reader takes its next step and that goes over the rest: a skip (see
`order.skip`) from a value of a transaction to a place behind the transaction's last value of that
key, which the process never polled at all. Of a skip this says that it left half of a transaction
behind.

Source: Adya's G1b; jepsen.tests.kafka wonders what it means for a log, and does not decide it.
Simplified: only the last value counts; which others were missed is for the skips.
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
from properties.anomalies.observations import places
from properties.anomalies.order.skip import skips
from properties.anomalies.order.steps import polls_between, polls_within
from properties.anomalies.rendering import told
from properties.anomalies.retention import kept_from

ID: Final = "G1b"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class IntermediateRead:
    """From a value of a transaction a process went on behind its last, which it never polled."""

    key: str
    reader_op: int  # which was given the value
    value: str
    offset: int
    next_op: int  # which was given the next
    next_value: str
    next_offset: int
    writer_op: int
    last_value: str
    last_offset: int

    @property
    def size(self) -> int:
        """How far the transaction's last value lies behind what was read of it."""
        return self.last_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.writer_op, self.reader_op, self.next_op)))


_STEPS: Final = (polls_within, polls_between)


def intermediate_reads(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[IntermediateRead, ...]:
    """One row per step that left a transaction before its end."""
    kept, lies, sender = kept_from(history, declared), places(history), sender_of(history)
    steps = chain.from_iterable(skips(history, found, declared) for found in _STEPS)
    rows: list[IntermediateRead] = []
    for step in steps:
        writer = sender.get((step.key, step.first_value))
        if writer is None or history[writer].f != "txn" or history[writer].outcome == "fail":
            continue
        sent = {m.value for m in history[writer].did if isinstance(m, Send) and m.key == step.key}
        placed = [(lies[step.key, value][-1], value) for value in sent if (step.key, value) in lies]
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


def observed(history: History) -> int:
    """How many steps readers took."""
    return sum(1 for found in _STEPS for _ in found(history))


def explain(row: IntermediateRead, operations: Mapping[int, Operation]) -> str:
    """What of the transaction the reader was given, and what it was not."""
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.reader_op].process} was given {row.value} at "
            f"offset {row.offset} and then {row.next_value} at {row.next_offset}, and never "
            f"{row.last_value} at {row.last_offset}, the last of the same transaction.",
            f"  sent  {told(operations, row.writer_op, row.key)}",
            f"  read  {told(operations, row.reader_op, row.key, value=row.value)}",
            f"  next  {told(operations, row.next_op, row.key, value=row.next_value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id=ID,
        statement="Who is given a part of a transaction is given its end before what is behind.",
        rule=(
            "From a value of a transaction that did not fail a process went on, with the key "
            "assigned to it all the while, to a record behind the transaction's last value of that "
            "key, and never polled that value."
        ),
        explanation=(
            "The reader has half of a transaction: the rest was hidden when it came by, or was "
            "made visible later than the first part."
        ),
        permits={SUBSCRIBE: "a rebalance between two polls may give the key away and back"},
        source="Adya, Weak Consistency, G1b",
        observes="steps of readers from one record to the next",
        row=IntermediateRead,
        find=partial(intermediate_reads, declared=declared),
        observed=observed,
        explain=explain,
    )
