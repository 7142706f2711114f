"""A poll was given a value that no operation tried to send to the key: a phantom.

However the operations ended: a value that a failed send carried is an aborted read, not a phantom.

Simplified: a history of a topic that others write to as well is full of phantoms. It has to be
recorded on topics of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import senders
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ValueNobodySent:
    """The value, the first operation that polled it, and how many times it was polled in all."""

    key: str
    value: str
    op: int
    times: int

    @property
    def size(self) -> int:
        """How many times it was polled."""
        return self.times

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.op,)


def _polled(history: History) -> list[tuple[str, str, int]]:
    return [
        (micro.key, micro.value, number)
        for number, operation in enumerate(history)
        for micro in operation.did
        if isinstance(micro, Poll)
    ]


def values_nobody_sent(history: History) -> tuple[ValueNobodySent, ...]:
    """One row per value that was polled and that nobody tried to send to the key."""
    sent, polled = senders(history), _polled(history)
    times = Counter((key, value) for key, value, _ in polled)
    return tuple(
        sorted(
            ValueNobodySent(
                key=key,
                value=value,
                op=min(op for k, v, op in polled if (k, v) == (key, value)),
                times=count,
            )
            for (key, value), count in times.items()
            if (key, value) not in sent
        )
    )


def observed(history: History) -> int:
    """How many different values were polled."""
    return len({(key, value) for key, value, _ in _polled(history)})


def explain(row: ValueNobodySent, operations: Mapping[int, Operation]) -> str:
    """Who was given the value."""
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was polled {row.times:,} times, and no "
            "operation tried to send it there.",
            f"  polled  {told(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="value-nobody-sent",
    statement="Readers are given only what somebody sent.",
    rule="A poll, however it ended, was given a value that no operation tried to send to the key.",
    explanation=(
        "A record was made up, mangled, or put into a log that it was not sent to; or somebody "
        "writes to the topic whom nobody recorded."
    ),
    permits={},
    source="jepsen.tests.kafka gives up on such a history: no-writer-of-value",
    observes="values polled",
    row=ValueNobodySent,
    find=values_nobody_sent,
    observed=observed,
    explain=explain,
)
