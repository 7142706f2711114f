"""One value lies at two offsets of a log: the producer sent it once and it was appended twice.

Reading the same offset again is no duplicate. Every value is sent to a key at most once.

Source: jepsen.tests.kafka duplicate-cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import placings
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Duplicate:
    """The offsets at which one value lies, and for each the first operation that showed it."""

    key: str
    value: str
    offsets: tuple[int, ...]  # ascending
    seen_by: tuple[int, ...]  # one operation for each offset

    @property
    def size(self) -> int:
        """How many times the value is in the log."""
        return len(self.offsets)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def duplicates(history: History) -> tuple[Duplicate, ...]:
    """One row per value that lies at two or more offsets."""
    seen = placings(history)
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
    """How many values have a known place in a log."""
    return len({(s.key, s.value) for s in placings(history)})


def explain(row: Duplicate, operations: Mapping[int, Operation]) -> str:
    """Who saw the value where."""
    offsets = ", ".join(map(str, row.offsets))
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was sent once and lies at offsets {offsets}.",
            *(
                f"  @{offset} by  {told(operations, op, row.key, offset=offset, value=row.value)}"
                for offset, op in zip(row.offsets, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="duplicate",
    statement="A value that was sent once lies in the log at most once.",
    rule=(
        "One value was seen at two or more offsets of a key. A copy that only polls at "
        "read_uncommitted saw, of a value that was sent in vain before, does not count."
    ),
    explanation=(
        "A retry was appended again: the producer is not idempotent, or the broker forgot the "
        "producer's sequence, or the client began a new producer epoch and sent again."
    ),
    permits={},
    source="jepsen.tests.kafka duplicate; claims: exactly_once_publish",
    observes="values with a known place in a log",
    row=Duplicate,
    find=duplicates,
    observed=observed,
    explain=explain,
)
