"""The transactions of a topic partition: which are open, and which records readers have to skip.

    first record of a producer ... more records ... marker        high watermark
          |<------------------ open ------------------>|                |
          |<------------- holds the last stable offset back ----------->|

The last stable offset is the high watermark, or the first offset of the oldest transaction that is
open or whose marker is not yet replicated, if that comes first. The second half matters: a marker
above the high watermark may be lost with its leader, the transaction is open again, and an offset
that was told would go back.

The aborted-transaction index names each aborted transaction with its first offset and its marker's,
so that a read_committed reader can leave its records out.

Source: KIP-98; KAFKA-5121, KAFKA-9807; protocol rules D5, D9.
Simplified: the index is kept in memory and rebuilt with the producer state, not stored beside each
segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from model.vocabulary import Offset, ProducerId
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.protocol.messages import AbortedTransaction
from reference_impl.protocol.transactions import TxnResult


class Ended(NamedTuple):
    """A transaction from its first record to its marker."""

    producer_id: ProducerId
    first_offset: Offset
    marker_offset: Offset


@dataclass(frozen=True, slots=True)
class PartitionTransactions:
    """A fold of the log; `open` is in the order of first offsets."""

    open: Mapping[ProducerId, Offset] = field(default_factory=dict[ProducerId, Offset])
    unreplicated: tuple[Ended, ...] = ()  # ended, and the marker may be above the high watermark
    aborted: tuple[Ended, ...] = ()  # in the order of their markers

    def with_records(self, batch: Batch) -> PartitionTransactions:
        """After a transactional batch: its producer's transaction is open."""
        head = batch.header
        if head.producer_id in self.open:
            return self
        return replace(self, open={**self.open, head.producer_id: head.base_offset})

    def with_marker(self, batch: Batch, marker: Marker) -> PartitionTransactions:
        """After a marker: the open transaction has ended; a marker without one changes nothing."""
        head = batch.header
        first_offset = self.open.get(head.producer_id)
        if first_offset is None:
            return self
        ended = Ended(head.producer_id, first_offset, head.last_offset)
        return PartitionTransactions(
            {id_: first for id_, first in self.open.items() if id_ != head.producer_id},
            (*self.unreplicated, ended),
            (*self.aborted, ended) if marker.result is TxnResult.ABORT else self.aborted,
        )

    def replicated_to(self, high_watermark: Offset) -> PartitionTransactions:
        """Without what holds nothing back any more."""
        if not self.unreplicated or self.unreplicated[0].marker_offset >= high_watermark:
            return self
        left = tuple(e for e in self.unreplicated if e.marker_offset >= high_watermark)
        return replace(self, unreplicated=left)

    def last_stable_offset(
        self, high_watermark: Offset, *, counts_unreplicated: bool = True
    ) -> Offset:
        """The offset below which every transaction has ended for good."""
        held = [*self.open.values()][:1]
        if counts_unreplicated:
            held += [e.first_offset for e in self.unreplicated if e.marker_offset >= high_watermark]
        return min([high_watermark, *held])

    def kept_from(self, offset: Offset) -> PartitionTransactions:
        """Without the aborted ones that lie wholly below the offset, where all is deleted."""
        if not self.aborted or self.aborted[0].marker_offset >= offset:
            return self
        left = tuple(ended for ended in self.aborted if ended.marker_offset >= offset)
        return replace(self, aborted=left)

    def aborted_between(self, start: Offset, end: Offset) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions with records or their marker in this range."""
        return tuple(
            AbortedTransaction(producer_id=ended.producer_id, first_offset=ended.first_offset)
            for ended in self.aborted
            if ended.marker_offset >= start and ended.first_offset < end
        )
