"""A log has each batch of an idempotent producer exactly once, in order, and no batch is missing.

A producer numbers its records separately for each topic partition. A broker accepts only a batch
that begins with the producer's next sequence number. In a new producer epoch, the numbers begin at
0. After the largest int32, the numbers begin again at 0. A batch with an unexpected number is a gap
if the number is ahead by less than half of the range. Otherwise the batch is a repeat.

The logs of `__consumer_offsets` are not checked. The group coordinator writes the offsets of a
transaction to them with the producer's id, and begins every batch with the number 0.

Source: KIP-98, KIP-360; ProducerAppendInfo.maybeValidateDataBatch.
Simplified: if data is missing (because batches were deleted or compacted, for example), the
producer's first batch after the missing data may have any number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from properties.log_audit.check import Check, Location, count, location
from properties.log_audit.log import SEQUENCE_NUMBERS, Batch, Logs, ReplicaLog, by_producer


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SequenceJump(Location):
    """A batch that does not begin with the next sequence number of its producer."""

    producer_id: int
    producer_epoch: int
    sequence: int
    next_sequence: int
    earlier_offset: int  # of the producer's batch before it


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ProducerEpochBack(Location):
    """A batch or marker that has a lower producer epoch than the previous batch of the same
    producer.
    """

    producer_id: int
    producer_epoch: int
    earlier_offset: int
    earlier_producer_epoch: int


def sequence_gaps(logs: Logs) -> tuple[SequenceJump, ...]:
    """Returns one violation for each batch that skips sequence numbers of its producer, such as a
    batch that begins at 6 after a batch that ends at 4.

    If data may be missing between two batches, they are not compared.
    """
    rows: list[SequenceJump] = []
    for log in _sequenced(logs):
        for run in log.contiguous_runs():
            for one, two in _numbered(run):
                if _ahead(one, two) and not _repeats(one, two):
                    rows.append(SequenceJump(**location(log, two), **_jump(one, two)))
    return tuple(sorted(rows))


def sequence_repeats(logs: Logs) -> tuple[SequenceJump, ...]:
    return tuple(
        sorted(
            SequenceJump(**location(log, two), **_jump(one, two))
            for log in _sequenced(logs)
            for one, two in _numbered(log.sound)
            if _repeats(one, two)
        )
    )


def _sequenced(logs: Logs) -> tuple[ReplicaLog, ...]:
    return tuple(log for log in logs.replicas if log.metadata.is_sequenced)


def _numbered(batches: list[Batch] | tuple[Batch, ...]) -> Iterator[tuple[Batch, Batch]]:
    for of_producer in by_producer(batches).values():
        yield from pairwise(batch for batch in of_producer if batch.base_sequence >= 0)


def _next(one: Batch, two: Batch) -> int:
    same = two.producer_epoch == one.producer_epoch
    return (one.last_sequence + 1) % SEQUENCE_NUMBERS if same else 0


def _ahead(one: Batch, two: Batch) -> int:
    if two.producer_epoch < one.producer_epoch:
        return 0
    # sequence numbers wrap, so a number below the expected one gives a large result
    return (two.base_sequence - _next(one, two)) % SEQUENCE_NUMBERS


def _repeats(one: Batch, two: Batch) -> bool:
    same = two.producer_epoch == one.producer_epoch
    return same and _ahead(one, two) >= SEQUENCE_NUMBERS // 2


def _jump(one: Batch, two: Batch) -> dict[str, Any]:
    return {
        "producer_id": two.producer_id,
        "producer_epoch": two.producer_epoch,
        "sequence": two.base_sequence,
        "next_sequence": _next(one, two),
        "earlier_offset": one.base_offset,
    }


def producer_epochs_back(logs: Logs) -> tuple[ProducerEpochBack, ...]:
    return tuple(
        sorted(
            ProducerEpochBack(
                **location(log, two),
                producer_id=two.producer_id,
                producer_epoch=two.producer_epoch,
                earlier_offset=one.base_offset,
                earlier_producer_epoch=one.producer_epoch,
            )
            for log in logs.replicas
            for of_producer in by_producer(log.sound).values()
            for one, two in pairwise(of_producer)
            if two.producer_epoch < one.producer_epoch
        )
    )


def numbered(logs: Logs) -> int:
    sequenced = replace(logs, replicas=_sequenced(logs))
    return count(sequenced, lambda b: b.sound and b.producer_id >= 0 and b.base_sequence >= 0)


def of_producers(logs: Logs) -> int:
    return count(logs, lambda batch: batch.sound and batch.producer_id >= 0)


def _explain(row: SequenceJump) -> str:
    return (
        f"{row}: producer {row.producer_id}, epoch {row.producer_epoch}: the batch at offset "
        f"{row.offset} begins at sequence number {row.sequence}, but the next one after the batch "
        f"at offset {row.earlier_offset} is {row.next_sequence}."
    )


CHECKS: Final = (
    Check(
        id="sequence-gap",
        statement="The records of an idempotent producer are in a log without a gap.",
        rule=(
            "A batch of a producer begins above the producer's next sequence number, or above 0 in "
            "a new producer epoch, although no offset is missing before it."
        ),
        explanation=(
            "The leader accepted a batch although an earlier one was missing, or had lost the "
            "producer's state, so records are out of order or lost."
        ),
        source="ProducerAppendInfo.checkSequence; claims: exactly_once_publish; KAFKA-15591",
        observes="batches that producers number",
        row=SequenceJump,
        find=sequence_gaps,
        observed=numbered,
        explain=_explain,
    ),
    Check(
        id="sequence-repeat",
        statement="The records of an idempotent producer are in a log only once.",
        rule=(
            "A batch begins at or below the last sequence number of the batch of the same producer "
            "and epoch before it."
        ),
        explanation="A retry was appended again, so consumers read the records twice.",
        source="ProducerStateEntry.findDuplicateBatch; claims: exactly_once_publish",
        observes="batches that producers number",
        row=SequenceJump,
        find=sequence_repeats,
        observed=numbered,
        explain=_explain,
    ),
    Check(
        id="producer-epoch-order",
        statement="Producer epochs of a producer id never decrease.",
        rule="A batch or marker has a lower producer epoch than the producer's one before it.",
        explanation=(
            "A fenced producer (a zombie) wrote again, and its records belong to no transaction "
            "that will be ended."
        ),
        source="ProducerAppendInfo.checkProducerEpoch; KIP-98, KIP-360",
        observes="batches and markers of producers",
        row=ProducerEpochBack,
        find=producer_epochs_back,
        observed=of_producers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id} has epoch {row.producer_epoch} at offset "
            f"{row.offset}, after epoch {row.earlier_producer_epoch} at offset "
            f"{row.earlier_offset}."
        ),
    ),
)
