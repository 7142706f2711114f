"""The records of logs as abstract replication sees them: an epoch, and a message with a number.

Equal bytes that producers sent have one number, in whatever log and under whatever leader epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import header

SIGNED_FROM: Final = 21  # bytes of a batch: what comes before is the broker's own


class Entry(NamedTuple):
    """A record at its offset, as the spec sees it."""

    offset: int
    leader_epoch: int
    message: int


@dataclass(slots=True)
class Messages:
    """Numbers for what producers sent: equal bytes under one number, at every offset and epoch."""

    numbers: dict[tuple[bytes, int], int] = field(default_factory=dict[tuple[bytes, int], int])
    known: dict[bytes, tuple[Entry, ...]] = field(default_factory=dict[bytes, tuple[Entry, ...]])

    def entries(self, batch: bytes) -> tuple[Entry, ...]:
        """The records of a batch."""
        if batch not in self.known:
            head, signed = header(batch), batch[SIGNED_FROM:]
            self.known[batch] = tuple(
                Entry(
                    head.base_offset + delta,
                    head.leader_epoch,
                    self.numbers.setdefault((signed, delta), len(self.numbers)),
                )
                for delta in range(head.last_offset_delta + 1)
            )
        return self.known[batch]

    def of(self, log: PartitionLog, start: int = 0) -> Iterator[Entry]:
        """The records of a log from the offset on."""
        for batch in log.batches():
            if batch.header.next_offset > start:
                yield from (e for e in self.entries(batch.data) if e.offset >= start)
