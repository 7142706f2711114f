"""A poll returned a value that no operation tried to send to the topic partition: a phantom.

If a value was sent, but the send failed, the value is an aborted read and no phantom.

Simplified: a record of a client outside the history is reported as a phantom, too. So a history
must be recorded on topics that no other client writes to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import polled_values, senders
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ValueNobodySent:
    """A value that polls returned, although no operation sent it. `op` is the first operation that
    polled the value, and `times` is the number of polled records with this value.
    """

    key: str
    value: str
    op: int
    times: int

    @property
    def size(self) -> int:
        return self.times

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.op,)


def values_nobody_sent(history: History) -> tuple[ValueNobodySent, ...]:
    sent, polled = senders(history), polled_values(history)
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
    return len({(key, value) for key, value, _ in polled_values(history)})


def explain(row: ValueNobodySent, operations: Mapping[int, Operation]) -> str:
    times = "once" if row.times == 1 else f"{row.times:,} times"
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was polled {times}, but no operation tried to "
            "send it to this key.",
            f"  polled  {render(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="value-nobody-sent",
    statement="A poll returns only values that some client sent to that key.",
    rule="A poll, however it ended, returned a value that no operation tried to send to the key.",
    explanation=(
        "A record was invented, corrupted or written to the wrong log, or a client whose "
        "operations were not recorded writes to the topic."
    ),
    permits={},
    source="jepsen.tests.kafka gives up on such a history: no-writer-of-value",
    observes="values polled",
    row=ValueNobodySent,
    find=values_nobody_sent,
    observed=observed,
    explain=explain,
)
