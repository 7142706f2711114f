"""An acknowledged write that no poll was ever given, though the readers read every log to its end.

It says more than `lost-write`: the tail above the highest read counts, and so does a value whose
place nobody knows. It is therefore only a fault of the system if the readers came to the end.

Source: jepsen.tests.kafka unseen.
Simplified: Jepsen counts the unseen after every operation; here only the end of the history counts.
At its last operation Jepsen also counts what that operation polled of a key that no acknowledged
operation sent to and none polled before; that is no unseen write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, UNFINISHED, Declarations
from properties.anomalies.observations import places, read_values
from properties.anomalies.rendering import at, told
from properties.anomalies.retention import kept_from

SOMEWHERE: Final = 2**63 - 2  # where a value counts as lying whose place nobody knows


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Unseen:
    """A value whose send ended `ok` and that no poll ended `ok` was given."""

    key: str
    value: str
    writer_op: int
    later: int  # operations that completed after it, or never

    @property
    def size(self) -> int:
        """How long readers had the chance, in operations."""
        return self.later

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.writer_op,)


def _acknowledged(history: History, declared: Declarations) -> dict[tuple[str, str], int]:
    """For each value that must be there and is acknowledged the first operation that sent it."""
    lies, kept = places(history), kept_from(history, declared)
    first: dict[tuple[str, str], int] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and operation.outcome == "ok":
                place = lies.get((micro.key, micro.value), (SOMEWHERE,))[-1]
                if place >= kept(micro.key):
                    first.setdefault((micro.key, micro.value), number)
    return first


def unseen(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Unseen, ...]:
    """One row per acknowledged value that nobody has read."""
    read = read_values(history)
    return tuple(
        sorted(
            Unseen(key=key, value=value, writer_op=op, later=len(history) - 1 - op)
            for (key, value), op in _acknowledged(history, declared).items()
            if (key, value) not in read
        )
    )


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    """How many values are acknowledged and must be there."""
    return len(_acknowledged(history, declared))


def explain(row: Unseen, operations: Mapping[int, Operation]) -> str:
    """When the write was acknowledged, and how long nobody saw it."""
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was acknowledged at "
            f"{at(operations[row.writer_op].completed_ns)}; of the {row.later:,} operations that "
            "completed later none was given it, nor was one before.",
            f"  sent  {told(operations, row.writer_op, row.key, value=row.value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id="unseen",
        statement="An acknowledged write is read by someone before the history ends.",
        rule="A send ended ok, and no poll ended ok was given its value.",
        explanation=(
            "The write was acknowledged and is gone, or is hidden from readers: behind a "
            "transaction that never ends, or on a replica that never catches up."
        ),
        permits={UNFINISHED: "the readers did not come to the end of every log"},
        source="jepsen.tests.kafka unseen; claims: committed_survives",
        observes="values acknowledged",
        row=Unseen,
        find=partial(unseen, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
