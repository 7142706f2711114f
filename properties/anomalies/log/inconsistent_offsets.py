"""One offset of a log was seen with two values: an offset must identify one record for ever.

Source: jepsen.tests.kafka version-orders, its errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import sightings
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InconsistentOffset:
    """The values seen at one offset, and for each the first operation that showed it there."""

    key: str
    offset: int
    values: tuple[str, ...]  # sorted
    seen_by: tuple[int, ...]  # one operation for each value

    @property
    def size(self) -> int:
        """How many values the offset has."""
        return len(self.values)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def inconsistent_offsets(history: History) -> tuple[InconsistentOffset, ...]:
    """One row per offset that shows two or more values."""
    seen = sightings(history)
    rows: list[InconsistentOffset] = []
    for key, offset in {(s.key, s.offset) for s in seen}:
        values = sorted({s.value for s in seen if (s.key, s.offset) == (key, offset)})
        if len(values) > 1:
            first = [
                min(s.op for s in seen if (s.key, s.offset, s.value) == (key, offset, value))
                for value in values
            ]
            rows.append(
                InconsistentOffset(
                    key=key, offset=offset, values=tuple(values), seen_by=tuple(first)
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many offsets of logs the history shows."""
    return len({(s.key, s.offset) for s in sightings(history)})


def explain(row: InconsistentOffset, operations: Mapping[int, Operation]) -> str:
    """Who saw what at the offset."""
    values = " and ".join(row.values)
    return "\n".join(
        (
            f"key {row.key}: offset {row.offset} was seen with the values {values}.",
            *(
                f"  {value} by  {told(operations, op, row.key, offset=row.offset, value=value)}"
                for value, op in zip(row.values, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="inconsistent-offsets",
    statement="An offset of a log identifies one record for ever.",
    rule=(
        "Two values were seen at one offset of a key, by polls however they ended or by sends "
        "that must have taken effect."
    ),
    explanation=(
        "Two clients were told different records for one place: replicas diverged, or an "
        "acknowledged suffix was cut off and its offsets were given out again."
    ),
    permits={},
    source="jepsen.tests.kafka inconsistent-offsets; claims: offset_identifies",
    observes="offsets of logs that were seen",
    row=InconsistentOffset,
    find=inconsistent_offsets,
    observed=observed,
    explain=explain,
)
