"""Maps the records of logs to records of the spec `replication-abstract`.

In the spec, a record is a message number. Records with equal bytes have the same message number, in
any log and with any leader epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import header

SIGNED_FROM: Final = 21  # the broker sets the bytes of a batch before this one


class Entry(NamedTuple):
    """A record in the spec `replication-abstract`: its offset, leader epoch and message number."""

    offset: int
    leader_epoch: int
    message: int


@dataclass(slots=True)
class Messages:
    numbers: dict[tuple[bytes, int], int] = field(default_factory=dict[tuple[bytes, int], int])
    known: dict[bytes, tuple[Entry, ...]] = field(default_factory=dict[bytes, tuple[Entry, ...]])

    def entries(self, batch: bytes) -> tuple[Entry, ...]:
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
        """Yields the records of a log from the offset `start` on, as entries of the spec."""
        for batch in log.batches():
            if batch.header.next_offset > start:
                yield from (e for e in self.entries(batch.data) if e.offset >= start)


def last_offset(end: int) -> int:
    """Returns the offset of the last record of a log that ends at `end`. For example, it is 6 for
    `end` 7.

    For an empty log, the result is 0, because the spec has no lower offset.
    """
    return max(end - 1, 0)
