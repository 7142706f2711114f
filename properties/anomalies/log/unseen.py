"""An acknowledged write that no poll ever returned, although the readers read every log to its end.

The anomaly `lost-write` covers only values up to the highest offset that was read. This check also
covers values above that offset, and values without an observed offset. If the user declares that
the readers did not read every log to its end, an unseen value is no violation.

Source: jepsen.tests.kafka unseen.
Simplified: Jepsen determines the unseen writes after every operation; Urteil determines them only
at the end of the history. Jepsen has a defect: it reports the polled values of a topic partition as
unseen under two conditions. No send to the topic partition was acknowledged, and the history's last
operation that ended ok is the first operation that polls the topic partition. In Urteil, a value
that was polled is never unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, UNFINISHED, Declarations
from properties.anomalies.observations import locations, read_values
from properties.anomalies.rendering import in_ms, render
from properties.anomalies.retention import kept_from

SOMEWHERE: Final = 2**63 - 2  # stands for the offset of a value without an observed offset


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Unseen:
    """A value whose send ended `ok`, although no poll that ended `ok` returned the value."""

    key: str
    value: str
    writer_op: int
    later: int  # the distance of its number from that of the last operation

    @property
    def size(self) -> int:
        return self.later

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.writer_op,)


def _acknowledged(history: History, declared: Declarations) -> dict[tuple[str, str], int]:
    located, kept = locations(history), kept_from(history, declared)
    first: dict[tuple[str, str], int] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and operation.outcome == "ok":
                offset = located.get((micro.key, micro.value), (SOMEWHERE,))[-1]
                if offset >= kept(micro.key):
                    first.setdefault((micro.key, micro.value), number)
    return first


def unseen(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Unseen, ...]:
    read = read_values(history)
    return tuple(
        sorted(
            Unseen(key=key, value=value, writer_op=op, later=len(history) - 1 - op)
            for (key, value), op in _acknowledged(history, declared).items()
            if (key, value) not in read
        )
    )


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    return len(_acknowledged(history, declared))


def explain(row: Unseen, operations: Mapping[int, Operation]) -> str:
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was acknowledged at "
            f"{in_ms(operations[row.writer_op].completed_ns)}, and no poll that ended ok returned "
            "it before the history ended.",
            f"  sent  {render(operations, row.writer_op, row.key, value=row.value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id="unseen",
        statement="An acknowledged write is read by some reader before the history ends.",
        rule="A send ended ok, but no poll that ended ok returned its value.",
        explanation=(
            "The record was lost after the acknowledgement, or it is hidden from readers by a "
            "transaction that never ends or by a replica that never catches up."
        ),
        permits={UNFINISHED: "the readers did not read every log to its end"},
        source="jepsen.tests.kafka unseen; claims: committed_survives",
        observes="values acknowledged",
        row=Unseen,
        find=partial(unseen, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
