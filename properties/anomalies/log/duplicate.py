"""A value is at two offsets of a log, although it was sent once.

If the same offset is read twice, the value is no duplicate.

Source: jepsen.tests.kafka duplicate-cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import polled_values, trusted_observations
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Duplicate:
    """A value that is at several offsets of a log.

    For each offset, `seen_by` has the first operation that observed the value at this offset.
    """

    key: str
    value: str
    offsets: tuple[int, ...]  # ascending
    seen_by: tuple[int, ...]  # one operation for each offset

    @property
    def size(self) -> int:
        return len(self.offsets)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def duplicates(history: History) -> tuple[Duplicate, ...]:
    seen = trusted_observations(history)
    rows: list[Duplicate] = []
    for key, value in {(s.key, s.value) for s in seen}:
        offsets = sorted({s.offset for s in seen if (s.key, s.value) == (key, value)})
        if len(offsets) > 1:
            first = [
                min(s.op for s in seen if (s.key, s.value, s.offset) == (key, value, offset))
                for offset in offsets
            ]
            rows.append(
                Duplicate(key=key, value=value, offsets=tuple(offsets), seen_by=tuple(first))
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    located = {(s.key, s.value) for s in trusted_observations(history)}
    return len(located & {(key, value) for key, value, _ in polled_values(history)})


def explain(row: Duplicate, operations: Mapping[int, Operation]) -> str:
    offsets = ", ".join(map(str, row.offsets))
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was sent once but is at offsets {offsets}.",
            *(
                f"  @{offset} by  {render(operations, op, row.key, offset=offset, value=row.value)}"
                for offset, op in zip(row.offsets, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="duplicate",
    statement="A value that was sent once is in the log at most once.",
    rule=(
        "One value was observed at two or more offsets of a key, not counting what only polls at "
        "read_uncommitted observed of a value with a failed send."
    ),
    explanation=(
        "A retry was appended again: the producer is not idempotent, the broker lost the "
        "producer's sequence number, or the client retried under a new producer epoch."
    ),
    permits={},
    source="jepsen.tests.kafka duplicate; claims: exactly_once_publish",
    observes="polled values whose offset is known",
    row=Duplicate,
    find=duplicates,
    observed=observed,
    explain=explain,
)
