"""The transactions of a topic partition: the open transactions, and an index of the aborted
transactions. A transaction has this timeline:

    first record of a producer ... more records ... marker        high watermark
          |<------------------ open ------------------>|                |
          |<------------- holds the last stable offset back ----------->|

A transaction holds the last stable offset back until its marker is replicated. The last stable
offset is the smaller of two offsets: the high watermark, and the first offset of the oldest
transaction whose marker is not replicated. A marker above the high watermark cannot advance the
last stable offset. Such a marker may be lost with its leader. If the marker had advanced the last
stable offset, the last stable offset would decrease.

Source: KIP-98; KAFKA-5121, KAFKA-9807; docs/kafka-rules.md D5, D9.
Simplified: the index is in memory, and is rebuilt together with the producer state. Kafka stores an
index for each segment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from model.vocabulary import Offset, ProducerId
from reference_impl.log.chain import Chain
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.protocol.messages import AbortedTransaction
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.transactions import TxnResult


class Ended(NamedTuple):
    producer_id: ProducerId
    first_offset: Offset
    marker_offset: Offset


NO_ABORTED: Final = Chain[Ended]()


@dataclass(frozen=True, slots=True)
class PartitionTransactions:
    """The transactions of a log. The transactions in `open` are in the order of their first
    offsets.
    """

    open: Mapping[ProducerId, Offset] = field(default_factory=dict[ProducerId, Offset])
    unreplicated: tuple[Ended, ...] = ()  # the marker may be above the high watermark
    aborted: Chain[Ended] = NO_ABORTED  # in the order of their markers

    def with_records(self, batch: Batch) -> PartitionTransactions:
        head = batch.header
        if head.producer_id in self.open:
            return self
        return replace(self, open={**self.open, head.producer_id: head.base_offset})

    def with_marker(self, batch: Batch, marker: Marker) -> PartitionTransactions:
        head = batch.header
        first_offset = self.open.get(head.producer_id)
        if first_offset is None:
            return self
        ended = Ended(head.producer_id, first_offset, head.last_offset)
        return PartitionTransactions(
            {id_: first for id_, first in self.open.items() if id_ != head.producer_id},
            (*self.unreplicated, ended),
            self.aborted.plus(ended) if marker.result is TxnResult.ABORT else self.aborted,
        )

    def replicated_to(self, high_watermark: Offset) -> PartitionTransactions:
        if not self.unreplicated or self.unreplicated[0].marker_offset >= high_watermark:
            return self
        left = tuple(e for e in self.unreplicated if e.marker_offset >= high_watermark)
        return replace(self, unreplicated=left)

    def last_stable_offset(
        self, high_watermark: Offset, *, counts_unreplicated: bool = True
    ) -> Offset:
        """Returns the last stable offset: the high watermark, or the first offset of the oldest
        transaction whose marker is not replicated, if this offset is lower.

        If `counts_unreplicated` is False (a seeded bug), only open transactions count. A
        transaction is no longer open after its marker, even if the marker is not replicated.
        """
        held = [*self.open.values()][:1]
        # Only with the seeded bug UNREPLICATED_MARKER_COUNTS, an unreplicated marker is sufficient.
        if counts_unreplicated:
            held += [e.first_offset for e in self.unreplicated if e.marker_offset >= high_watermark]
        return min([high_watermark, *held])

    def kept_from(self, offset: Offset) -> PartitionTransactions:
        """Returns the transactions without the aborted transactions whose marker is below
        `offset`.
        """
        if not self.aborted or self.aborted[0].marker_offset >= offset:
            return self
        left = Chain(ended for ended in self.aborted if ended.marker_offset >= offset)
        return replace(self, aborted=left)

    def aborted_between(self, start: Offset, end: Offset) -> tuple[AbortedTransaction, ...]:
        """Returns the aborted transactions that overlap the offsets from `start` to `end` - 1."""
        return tuple(
            AbortedTransaction(producer_id=ended.producer_id, first_offset=ended.first_offset)
            for ended in self.aborted
            if ended.marker_offset >= start and ended.first_offset < end
        )
