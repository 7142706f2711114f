"""What a replica remembers of its idempotent producers, and how a leader judges their next batch.

Per producer id: the producer epoch and the last five batches, each by its sequence numbers and its
offsets. Five, because a client has at most five requests in flight: a retry of any of them is
recognized, and answered with the offset it was given the first time. The state is a fold of the
log, so every replica has it up to its own end.

Source: KIP-98, KIP-360; protocol rules, section c, in their order.
Simplified: no transactions, hence no markers and no verification; state never expires; after a
restart the whole log is folded again, where Kafka starts from a snapshot that remembers the newest
batch only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.messages import ErrorCode
from reference_impl.partition_log import Batch
from reference_impl.record_batch import SEQUENCE_NUMBERS, Header

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


class Fresh(NamedTuple):
    """The batch is the next one."""


class Duplicate(NamedTuple):
    """The batch is in the log already, here."""

    batch: AppendedBatch


class Refused(NamedTuple):
    """The batch must not be appended."""

    error: ErrorCode


Judgement = Fresh | Duplicate | Refused


@dataclass(frozen=True, slots=True)
class ProducerStates:
    """The producers of one topic partition."""

    producers: Mapping[ProducerId, Producer] = field(default_factory=dict[ProducerId, Producer])

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> ProducerStates:
        """The state after these batches of a log."""
        producers: dict[ProducerId, Producer] = {}
        for batch in batches:
            _remember(producers, batch.header)
        return cls(producers)

    def after(self, head: Header) -> ProducerStates:
        """The state with one more batch of the log."""
        if head.producer_id == NO_PRODUCER_ID:
            return self
        producers = dict(self.producers)
        _remember(producers, head)
        return ProducerStates(producers)

    def judge(self, head: Header, *, never_written: bool) -> Judgement:
        """What a leader does with a batch; `never_written`: the log never held a record."""
        if head.producer_id == NO_PRODUCER_ID:
            return Fresh()
        known = self.producers.get(head.producer_id)
        if known is None:
            # Any sequence number is taken of a producer that nobody knows: its state may have
            # expired. On a log that never held a record nothing can have expired, and the batch
            # before this one is still on its way (KAFKA-15591).
            if head.base_sequence != 0 and never_written:
                return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            return Fresh()
        if head.producer_epoch == known.producer_epoch:
            for batch in known.batches:
                sequences = (batch.first_sequence, batch.last_sequence)
                if sequences == (head.base_sequence, head.last_sequence):
                    return Duplicate(batch)
            newest = known.batches[-1]
            if head.base_sequence != (newest.last_sequence + 1) % SEQUENCE_NUMBERS:
                return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            return Fresh()
        if head.producer_epoch < known.producer_epoch:
            return Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
        if head.base_sequence != 0:
            return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return Fresh()


def _remember(producers: dict[ProducerId, Producer], head: Header) -> None:
    if head.producer_id == NO_PRODUCER_ID:
        return
    batch = AppendedBatch(
        head.base_sequence, head.last_sequence, head.base_offset, head.next_offset
    )
    known = producers.get(head.producer_id)
    if known is not None and known.producer_epoch == head.producer_epoch:
        earlier = known.batches[1 - REMEMBERED_BATCHES :]
        producers[head.producer_id] = Producer(known.producer_epoch, (*earlier, batch))
    else:
        producers[head.producer_id] = Producer(head.producer_epoch, (batch,))
