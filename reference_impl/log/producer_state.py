"""What a replica remembers of its idempotent and transactional producers, and how a leader judges
their next batch.

Per producer id: the producer epoch and the last five batches, each by its sequence numbers and its
offsets. Five, because a client has at most five requests in flight: a retry of any of them is
recognized, and answered with the offset it was given the first time. Beside them the transactions.
The state is a fold of the log, so every replica has it up to its own end.

It outlives the records: what retention deletes is remembered until the producer has been silent for
`producer.id.expiration.ms` and has no transaction open. A snapshot, from which a replica starts
again after a crash or a truncation, keeps the newest batch of each producer only.

A marker may raise the producer epoch; a new epoch, whoever brings it, begins at sequence number 0.

Source: KIP-98, KIP-360, KIP-890; protocol rules, section c, in their order.
Simplified: a snapshot is the value itself, not Kafka's file, and keeps the aborted-transaction
index too.
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
    """A batch of a producer that is in the log."""

    first_sequence: Sequence
    last_sequence: Sequence
    base_offset: Offset
    next_offset: Offset


class Producer(NamedTuple):
    """The newest producer epoch of a producer id, and its last batches, oldest first."""

    producer_epoch: ProducerEpoch
    batches: tuple[AppendedBatch, ...]
    coordinator_epoch: int = -1  # of its last marker
    timestamp_ms: int = NEVER_MS  # of its last record, as it told, or of its last marker


class InSequence(NamedTuple):
    """The batch is the next one."""


class Duplicate(NamedTuple):
    """The batch is in the log already, here."""

    batch: AppendedBatch


class Rejected(NamedTuple):
    """The batch must not be appended."""

    error: ErrorCode


SequenceCheck = InSequence | Duplicate | Rejected


@dataclass(frozen=True, slots=True)
class ProducerStates:
    """The producers of one topic partition."""

    producers: Mapping[ProducerId, Producer] = field(default_factory=dict[ProducerId, Producer])
    transactions: PartitionTransactions = PartitionTransactions()  # noqa: RUF009 - a frozen value

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> ProducerStates:
        """The state after these batches of a log."""
        return cls().after_all(batches)

    def after(self, batch: Batch) -> ProducerStates:
        """The state with one more batch of the log."""
        return self if batch.header.producer_id == NO_PRODUCER_ID else self.after_all([batch])

    def after_all(self, batches: Iterable[Batch]) -> ProducerStates:
        """The state with more batches of the log."""
        producers, transactions = dict(self.producers), self.transactions
        for batch in batches:
            transactions = _remember(producers, transactions, batch)
        return ProducerStates(producers, transactions)

    def with_newest_batches(self) -> ProducerStates:
        """What a snapshot keeps: of each producer its newest batch."""
        newest = {
            id_: known._replace(batches=known.batches[-1:]) for id_, known in self.producers.items()
        }
        return ProducerStates(newest, self.transactions)

    def unexpired(self, now_ms: int, expiration_ms: int) -> ProducerStates:
        """Without the producers that have been silent for so long, by the time of their records."""
        is_open = self.transactions.open
        left = {
            id_: known
            for id_, known in self.producers.items()
            if id_ in is_open or now_ms - known.timestamp_ms < expiration_ms
        }
        return self if len(left) == len(self.producers) else ProducerStates(left, self.transactions)

    def with_records_from(self, offset: Offset) -> ProducerStates:
        """Those only whose newest batch reaches the offset, as before KIP-360."""
        left = {
            id_: known
            for id_, known in self.producers.items()
            if known.batches and known.batches[-1].next_offset > offset
        }
        return ProducerStates(left, self.transactions)

    def kept_from(self, offset: Offset) -> ProducerStates:
        """Without the aborted transactions that readers can't meet any more."""
        transactions = self.transactions.kept_from(offset)
        if transactions is self.transactions:
            return self
        return ProducerStates(self.producers, transactions)

    def replicated_to(self, high_watermark: Offset) -> ProducerStates:
        """The state once the high watermark has come so far."""
        transactions = self.transactions.replicated_to(high_watermark)
        if transactions is self.transactions:
            return self
        return ProducerStates(self.producers, transactions)

    def is_open(self, head: Header) -> bool:
        """The transaction that the batch belongs to has begun here, in the same epoch."""
        known = self.producers.get(head.producer_id)
        return (
            head.producer_id in self.transactions.open
            and known is not None
            and known.producer_epoch == head.producer_epoch
        )

    def check_sequence(
        self, head: Header, *, never_written: bool, is_verified: bool = True
    ) -> SequenceCheck:
        """What a leader does with a batch; `never_written`: the log never held a record.

        The first batch of a transaction has to be verified: the coordinator knows of it.
        """
        if head.producer_id == NO_PRODUCER_ID:
            return InSequence()
        known = self.producers.get(head.producer_id)
        if head.base_sequence < 0:  # a coordinator's own: its epoch counts, it has no numbers
            if known is not None and head.producer_epoch < known.producer_epoch:
                return Rejected(ErrorCode.INVALID_PRODUCER_EPOCH)
            return InSequence()
        match _in_sequence(head, known, never_written=never_written):
            case InSequence() if head.is_transactional and not (is_verified or self.is_open(head)):
                return Rejected(ErrorCode.INVALID_TXN_STATE)
            case InSequence() if not head.is_transactional and head.producer_id in self.open_ids:
                return Rejected(ErrorCode.INVALID_TXN_STATE)
            case judgement:
                return judgement

    @property
    def open_ids(self) -> Collection[ProducerId]:
        """The producers whose transaction has begun here and not ended."""
        return self.transactions.open.keys()

    def marker_error(self, request: WriteTxnMarker, *, strict: bool = True) -> ErrorCode:
        """Why a marker is refused; NONE if it is not.

        Since KIP-1228 (`strict`) a V2 marker has to raise the epoch: with an equal one it would end
        the transaction that the producer has begun since. Without an open one it is a retry.
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


def _in_sequence(head: Header, known: Producer | None, *, never_written: bool) -> SequenceCheck:
    if known is None:
        # Any sequence number is taken of a producer that nobody knows: its state may have
        # expired. On a log that never held a record nothing can have expired, and the batch
        # before this one is still on its way (KAFKA-15591).
        if head.base_sequence != 0 and never_written:
            return Rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return InSequence()
    if head.producer_epoch == known.producer_epoch:
        for batch in known.batches:
            sequences = (batch.first_sequence, batch.last_sequence)
            if sequences == (head.base_sequence, head.last_sequence):
                return Duplicate(batch)
        last_sequence = known.batches[-1].last_sequence if known.batches else -1
        if head.base_sequence != (last_sequence + 1) % SEQUENCE_NUMBERS:
            return Rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return InSequence()
    if head.producer_epoch < known.producer_epoch:
        return Rejected(ErrorCode.INVALID_PRODUCER_EPOCH)
    if head.base_sequence != 0:
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
    if head.base_sequence >= 0:
        appended = AppendedBatch(
            head.base_sequence, head.last_sequence, head.base_offset, head.next_offset
        )
        earlier = (*earlier[1 - REMEMBERED_BATCHES :], appended)
    producers[head.producer_id] = Producer(
        head.producer_epoch, earlier, coordinator_epoch, head.max_timestamp_ms
    )
    return transactions.with_records(batch) if head.is_transactional else transactions


NO_PRODUCERS: Final = ProducerStates()
