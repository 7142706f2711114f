"""A read of a log's end fell behind what was known before the read began.

The end is known to have reached o + 1 once a send was acknowledged at o, and h once a read said h.
A read that begins after that and says less is stale.

Simplified: only reads of the end offset count. A poll that comes back empty proves nothing: a new
leader's high watermark may lag, and a fetch may return before it has data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from model.histories import EndOffset, History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.telling import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class StaleEndOffset:
    """A read of the end that said less than was known before the read began."""

    key: str
    end_offset: int
    op: int
    known_end: int
    known_from: Literal["send", "end_offset"]
    known_op: int

    @property
    def size(self) -> int:
        """By how many offsets the read fell behind."""
        return self.known_end - self.end_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


@dataclass(frozen=True, slots=True)
class _Known:
    key: str
    end: int
    by: Literal["send", "end_offset"]
    op: int
    position: int
    invoked_ns: int
    completed_ns: int


def _known(history: History) -> list[_Known]:
    """Each acknowledgement and each read of an end, with how far the log then reached."""
    known: list[_Known] = []
    for number, operation in enumerate(history):
        times = operation.invoked_ns, operation.completed_ns
        for position, micro in enumerate(operation.did):
            if operation.outcome != "ok" or times[1] is None:
                continue
            if isinstance(micro, Send) and micro.offset is not None:
                end = micro.offset + 1
                known.append(_Known(micro.key, end, "send", number, position, times[0], times[1]))
            elif isinstance(micro, EndOffset):
                known.append(
                    _Known(
                        micro.key,
                        micro.offset,
                        "end_offset",
                        number,
                        position,
                        times[0],
                        times[1],
                    )
                )
    return known


def stale_end_offsets(history: History) -> tuple[StaleEndOffset, ...]:
    """One row per stale read, with the highest end known before it began."""
    known = _known(history)
    rows: list[StaleEndOffset] = []
    for read in known:
        before = [
            fact
            for fact in known
            if read.by == "end_offset"
            if fact.key == read.key
            if fact.completed_ns < read.invoked_ns
            if fact.end > read.end
        ]
        if before:
            fact = min(before, key=lambda k: (-k.end, k.completed_ns, k.op, k.position))
            rows.append(
                StaleEndOffset(
                    key=read.key,
                    end_offset=read.end,
                    op=read.op,
                    known_end=fact.end,
                    known_from=fact.by,
                    known_op=fact.op,
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many reads of an end offset came back."""
    return sum(known.by == "end_offset" for known in _known(history))


def explain(row: StaleEndOffset, operations: Mapping[int, Operation]) -> str:
    """Why this read is stale, from the two operations."""
    known, read = operations[row.known_op], operations[row.op]
    shown = row.known_end - 1 if row.known_from == "send" else row.known_end
    how = f"a send acknowledged at {shown}" if row.known_from == "send" else "a read of the end"
    return "\n".join(
        (
            f"key {row.key}: its end had reached {row.known_end} at {at(known.completed_ns)}, by "
            f"{how}; a read that began after that, at {at(read.invoked_ns)}, said "
            f"{row.end_offset}.",
            f"  known  {told(operations, row.known_op, row.key, offset=shown)}",
            f"  read   {told(operations, row.op, row.key, offset=row.end_offset)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="stale-end-offset",
    statement="A read of a log's end sees all that was known of it before the read began.",
    rule=(
        "An end h was read by an operation invoked after the completion of a send acknowledged "
        "at o, and h <= o; or after the completion of a read of h1, and h < h1."
    ),
    explanation=(
        "Who asks for the end after an acknowledgement must be told at least what lies behind "
        "the acknowledged record. A lower answer comes from a replica that is behind, or from "
        "a log that lost its end."
    ),
    permits={},
    source="claims: linearizable_offsets; ListOffsets, KIP-207",
    observes="reads of an end offset",
    row=StaleEndOffset,
    find=stale_end_offsets,
    observed=observed,
    explain=explain,
)
