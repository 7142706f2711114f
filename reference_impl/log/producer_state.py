"""The state of idempotent and transactional producers, and the checks of a producer's next record
batch.

Each replica computes the state from its own log. After a crash or a truncation, the computation
begins with a snapshot, which has only the newest batch of each producer. A producer without an open
transaction expires if it is inactive for `producer.id.expiration.ms`. The deletion of its records
does not make a producer expire.

Source: KIP-98, KIP-360, KIP-890; ProducerAppendInfo, ProducerStateManager; docs/kafka-rules.md C1,
with the same order of the checks.
Simplified: a snapshot is an immutable value, whereas Kafka has a file. The snapshot also contains
the index of aborted transactions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log import transaction_marker
from reference_impl.log.open_transactions import PartitionTransactions
from reference_impl.log.record_batch import SEQUENCE_NUMBERS, Header
from reference_impl.log.segment import NEVER_MS, Batch
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.transactions import TransactionVersion, WriteTxnMarker

REMEMBERED_BATCHES: Final = 5


class AppendedBatch(NamedTuple):
    first_sequence: Sequence
    last_sequence: Sequence
    base_offset: Offset
    next_offset: Offset
    timestamp_ms: int = NEVER_MS  # the largest of its records


class Producer(NamedTuple):
    """The newest epoch of a producer id, and the newest record batches of this epoch. The oldest of
    these batches is first.
    """

    producer_epoch: ProducerEpoch
    batches: tuple[AppendedBatch, ...]
    coordinator_epoch: int = -1  # of its last marker
    timestamp_ms: int = NEVER_MS  # of its last record (set by the producer) or of its last marker


class Verification(NamedTuple):
    """A pending verification of a transaction. The leader stores it until the transaction
    coordinator has confirmed that the transaction contains this partition.

    The first record batches of the transaction wait for this confirmation.

    Kafka: VerificationStateEntry.
    """

    lowest_sequence: Sequence  # of all waiting batches: a later batch must not be appended first
    adds_partition: bool  # the transaction is V2, and its batches begin with sequence number 0


class InSequence(NamedTuple):
    """The result of the sequence check for a record batch that the leader may append."""


class Duplicate(NamedTuple):
    """The result of the sequence check for a record batch that is in the log already. `batch` has
    the batch's offsets.
    """

    batch: AppendedBatch


class Rejected(NamedTuple):
    """The result of the sequence check for a record batch that the leader must reject."""

    error: ErrorCode


SequenceCheck = InSequence | Duplicate | Rejected


@dataclass(frozen=True, slots=True)
class ProducerStates:
    producers: Mapping[ProducerId, Producer] = field(default_factory=dict[ProducerId, Producer])
    transactions: PartitionTransactions = PartitionTransactions()  # noqa: RUF009 - a frozen value

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> ProducerStates:
        return cls().after_all(batches)

    def after(self, batch: Batch) -> ProducerStates:
        return self if batch.header.producer_id == NO_PRODUCER_ID else self.after_all([batch])

    def after_all(self, batches: Iterable[Batch]) -> ProducerStates:
        producers, transactions = dict(self.producers), self.transactions
        for batch in batches:
            transactions = _remember(producers, transactions, batch)
        return ProducerStates(producers, transactions)

    def with_newest_batches(self) -> ProducerStates:
        """Returns the state that a snapshot stores. It has only the newest record batch of each
        producer.
        """
        newest = {
            id_: known._replace(batches=known.batches[-1:]) for id_, known in self.producers.items()
        }
        return ProducerStates(newest, self.transactions)

    def unexpired(self, now_ms: int, expiration_ms: int) -> ProducerStates:
        """Returns the state without the expired producers. A producer has expired if it has no open
        transaction and was inactive for `expiration_ms` or longer.
        """
        is_open = self.transactions.open
        left = {
            id_: known
            for id_, known in self.producers.items()
            if id_ in is_open or now_ms - known.timestamp_ms < expiration_ms
        }
        return self if len(left) == len(self.producers) else ProducerStates(left, self.transactions)

    def with_records_from(self, offset: Offset) -> ProducerStates:
        """Returns the state of those producers whose newest record batch has a record at `offset`
        or above it.
        """
        # Only for the seeded bug PRODUCERS_GO_WITH_RECORDS: as in Kafka before KIP-360.
        left = {
            id_: known
            for id_, known in self.producers.items()
            if known.batches and known.batches[-1].next_offset > offset
        }
        return ProducerStates(left, self.transactions)

    def kept_from(self, offset: Offset) -> ProducerStates:
        transactions = self.transactions.kept_from(offset)
        if transactions is self.transactions:
            return self
        return ProducerStates(self.producers, transactions)

    def replicated_to(self, high_watermark: Offset) -> ProducerStates:
        transactions = self.transactions.replicated_to(high_watermark)
        if transactions is self.transactions:
            return self
        return ProducerStates(self.producers, transactions)

    def is_open(self, head: Header) -> bool:
        """Returns True if the record batch continues an open transaction of the same producer
        epoch.
        """
        known = self.producers.get(head.producer_id)
        return (
            head.producer_id in self.transactions.open
            and known is not None
            and known.producer_epoch == head.producer_epoch
        )

    def check_sequence(
        self, head: Header, verification: Verification | None = None
    ) -> SequenceCheck:
        """Returns the result of the sequence check for a record batch with the header `head`.

        `verification` is the pending verification of the transaction that the batch belongs to. It
        is None if there is no pending verification.

        Kafka: UnifiedLog.analyzeAndValidateProducerState, then ProducerAppendInfo.appendDataBatch.
        """
        if head.producer_id == NO_PRODUCER_ID:
            return InSequence()
        known = self.producers.get(head.producer_id)
        if known is not None and head.producer_epoch < known.producer_epoch:
            return Rejected(ErrorCode.INVALID_PRODUCER_EPOCH)
        if head.base_sequence < 0:
            return InSequence()  # a coordinator's append: only the epoch is checked
        judgement = _in_sequence(head, known, verification)
        is_foreign = not head.is_transactional and head.producer_id in self.open_ids
        if isinstance(judgement, InSequence) and is_foreign:
            return Rejected(ErrorCode.INVALID_TXN_STATE)
        return judgement

    @property
    def open_ids(self) -> Collection[ProducerId]:
        return self.transactions.open.keys()

    def marker_error(self, request: WriteTxnMarker, *, strict: bool = True) -> ErrorCode:
        """Returns the error that rejects a transaction marker with an old producer epoch or an old
        coordinator epoch. Returns NONE if the marker is accepted.

        If `strict` is True, a marker of transaction version 2 that ends an open transaction must
        raise the producer epoch (KIP-1228). Without this rule, a late marker could end the next
        transaction. If no transaction is open, the marker may be a retry, and need not raise the
        epoch.
        """
        known = self.producers.get(request.producer_id)
        if known is None:
            return ErrorCode.NONE
        is_open = request.producer_id in self.transactions.open
        is_late = (
            strict
            and request.version is TransactionVersion.V2
            and is_open
            and request.producer_epoch == known.producer_epoch
        )
        if request.producer_epoch < known.producer_epoch or is_late:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if request.coordinator_epoch < known.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE


def _in_sequence(
    head: Header, known: Producer | None, verification: Verification | None
) -> SequenceCheck:
    # The caller has already rejected batches with a stale producer epoch.
    is_same = known is not None and known.producer_epoch == head.producer_epoch
    earlier = known.batches if known is not None else ()
    for batch in earlier if is_same else ():
        if (batch.first_sequence, batch.last_sequence) == (head.base_sequence, head.last_sequence):
            return Duplicate(batch)
    if verification is not None:
        must_begin = verification.adds_partition and not earlier
        if head.base_sequence > (0 if must_begin else verification.lowest_sequence):
            return Rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    if known is None:
        # An unknown producer begins at any sequence number, because its state may have expired.
        # Even if the log never had a record, Kafka 4.3 does not check if an earlier batch is still
        # in flight (KAFKA-15591). Only the first batch of a V2 transaction must begin with 0.
        return InSequence()
    last_sequence = earlier[-1].last_sequence if is_same and earlier else -1
    if head.base_sequence != (last_sequence + 1) % SEQUENCE_NUMBERS:
        return Rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return InSequence()


def _remember(
    producers: dict[ProducerId, Producer], transactions: PartitionTransactions, batch: Batch
) -> PartitionTransactions:
    head = batch.header
    if head.producer_id == NO_PRODUCER_ID:
        return transactions
    known = producers.get(head.producer_id)
    is_same = known is not None and known.producer_epoch == head.producer_epoch
    earlier = known.batches if known is not None and is_same else ()
    coordinator_epoch = known.coordinator_epoch if known is not None else -1
    if head.is_control:
        marker = transaction_marker.read(batch.data)
        producers[head.producer_id] = Producer(
            head.producer_epoch, earlier, marker.coordinator_epoch, head.max_timestamp_ms
        )
        return transactions.with_marker(batch, marker)
    appended = AppendedBatch(
        head.base_sequence,  # -1 for the offsets that a coordinator appends for a producer
        head.last_sequence,
        head.base_offset,
        head.next_offset,
        head.max_timestamp_ms,
    )
    earlier = (*earlier[1 - REMEMBERED_BATCHES :], appended)
    producers[head.producer_id] = Producer(
        head.producer_epoch, earlier, coordinator_epoch, head.max_timestamp_ms
    )
    return transactions.with_records(batch) if head.is_transactional else transactions


NO_PRODUCERS: Final = ProducerStates()
