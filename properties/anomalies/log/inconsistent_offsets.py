"""One offset of a log was observed with two values, but an offset must always identify one record.

Source: the errors of version-orders in jepsen.tests.kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import each_observation, observations
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InconsistentOffset:
    """An offset at which several values were observed. For each value, `seen_by` has the first
    operation that observed it.
    """

    key: str
    offset: int
    values: tuple[str, ...]  # sorted
    seen_by: tuple[int, ...]  # one operation for each value

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def inconsistent_offsets(history: History) -> tuple[InconsistentOffset, ...]:
    seen = observations(history)
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
    times = Counter((s.key, s.offset) for s in each_observation(history))
    return sum(count > 1 for count in times.values())


def explain(row: InconsistentOffset, operations: Mapping[int, Operation]) -> str:
    values = " and ".join(row.values)
    return "\n".join(
        (
            f"key {row.key}: offset {row.offset} was observed with different values: {values}.",
            *(
                f"  {value} by  {render(operations, op, row.key, offset=row.offset, value=value)}"
                for value, op in zip(row.values, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="inconsistent-offsets",
    statement="An offset of a log identifies one record forever.",
    rule=(
        "Two values were observed at one offset of a key, by polls or by sends that must have "
        "taken effect."
    ),
    explanation=(
        "Two clients saw different records at one offset: replicas diverged, or an acknowledged "
        "suffix was truncated and its offsets were assigned again."
    ),
    permits={},
    source="jepsen.tests.kafka inconsistent-offsets; claims: offset_identifies",
    observes="offsets of logs that were observed at least twice",
    row=InconsistentOffset,
    find=inconsistent_offsets,
    observed=observed,
    explain=explain,
)
