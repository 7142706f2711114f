"""A write that must have taken effect was never read, although a later record was read.

Only polls that ended `ok` are considered. The *bound* of a topic partition is the highest offset of
a value that a poll returned. A value is lost if three things are true:

- The send of the value must have taken effect.
- The offset of the value is not above the bound of its topic partition.
- No poll returned the value.

If a value was observed at several offsets, only its lowest offset can be the bound, and its highest
offset is compared with the bound. So fewer values are reported. A value without an observed offset
is not checked. A value that the log may legally have dropped (`retention`) is
not checked either.

Source: jepsen.tests.kafka lost-write-cases.
Simplified: if a value has no known sender, Jepsen's check stops; Urteil does not report such a
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.observations import committed_sends, locations, read_values
from properties.anomalies.rendering import in_ms, render
from properties.anomalies.retention import kept_from


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class LostWrite:
    """A value that a reader should have received, and that no poll with the outcome `ok`
    returned.
    """

    key: str
    value: str
    offset: int  # the last at which the log shows it
    writer_op: int
    read_offset: int  # the bound
    read_value: str
    reader_op: int

    @property
    def size(self) -> int:
        return self.read_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.writer_op, self.reader_op


def highest_reads(history: History) -> dict[str, tuple[int, str, int]]:
    """Maps each topic partition to (highest offset read, value at this offset, first operation that
    read the value).

    If a value was observed at several offsets, only the lowest of them is considered.
    """
    located, readers = locations(history), read_values(history)
    highest: dict[str, tuple[int, int, str]] = {}
    for (key, value), ops in readers.items():
        if (key, value) in located:
            candidate = (-located[key, value][0], min(ops), value)
            highest[key] = min(highest.get(key, candidate), candidate)
    return {key: (-offset, value, op) for key, (offset, op, value) in highest.items()}


def _required(history: History, declared: Declarations) -> dict[tuple[str, str], int]:
    highest, sent = highest_reads(history), committed_sends(history)
    kept = kept_from(history, declared)
    return {
        (key, value): offsets[-1]
        for (key, value), offsets in locations(history).items()
        if key in highest and kept(key) <= offsets[-1] <= highest[key][0]
        if (key, value) in sent
    }


def lost_writes(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[LostWrite, ...]:
    highest, sent, read = highest_reads(history), committed_sends(history), read_values(history)
    rows: list[LostWrite] = []
    for (key, value), offset in _required(history, declared).items():
        if (key, value) not in read:
            read_offset, read_value, reader = highest[key]
            rows.append(
                LostWrite(
                    key=key,
                    value=value,
                    offset=offset,
                    writer_op=sent[key, value],
                    read_offset=read_offset,
                    read_value=read_value,
                    reader_op=reader,
                )
            )
    return tuple(sorted(rows))


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    return len(_required(history, declared))


def explain(row: LostWrite, operations: Mapping[int, Operation]) -> str:
    writer, reader = operations[row.writer_op], operations[row.reader_op]
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} is at offset {row.offset}; its send ended "
            f"{writer.outcome} at {in_ms(writer.completed_ns)}. A reader had polled "
            f"{row.read_value} at offset {row.read_offset} by {in_ms(reader.completed_ns)}, but no "
            f"reader ever polled {row.value}.",
            f"  sent    {render(operations, row.writer_op, row.key, value=row.value)}",
            f"  beyond  {render(operations, row.reader_op, row.key, value=row.read_value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id="lost-write",
        statement=(
            "If any record of a log is read, every earlier write that took effect is read too."
        ),
        rule=(
            "A send must have taken effect and its record is neither above the highest offset "
            "that was read nor below the log start, but no poll that ended ok returned the record."
        ),
        explanation=(
            "Readers passed the offset and never received the record: it was lost after the "
            "acknowledgement, or it is hidden from them."
        ),
        permits={},
        source="jepsen.tests.kafka lost-write; claims: committed_survives",
        observes="values that had to be read",
        row=LostWrite,
        find=partial(lost_writes, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
