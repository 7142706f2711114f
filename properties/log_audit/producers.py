"""What idempotent producers wrote lies in a log once, in their order, with nothing missing.

A producer numbers its records per topic partition; a broker takes the next number and no other. A
new producer epoch begins at 0. Numbers wrap behind the largest int32: what lies less than half of
them ahead is a gap, what lies behind is a repeat.

Source: KIP-98, KIP-360; ProducerAppendInfo.
Simplified: the first batch of a producer in a stretch may have any number: what came before it may
have been deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from properties.log_audit.check import Check, Place, count, place
from properties.log_audit.log import SEQUENCE_NUMBERS, Batch, Logs, by_producer


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SequenceJump(Place):
    """A batch whose first sequence number is not the next one."""

    producer_id: int
    producer_epoch: int
    sequence: int
    next_sequence: int
    earlier_offset: int  # of the batch of this producer before it


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ProducerEpochBack(Place):
    """A batch or marker of an earlier producer epoch than the one before it."""

    producer_id: int
    producer_epoch: int
    earlier_offset: int
    earlier_producer_epoch: int


def sequence_gaps(logs: Logs) -> tuple[SequenceJump, ...]:
    """One row per batch before which sequence numbers are missing and offsets are not."""
    rows: list[SequenceJump] = []
    for log in logs.replicas:
        for stretch in log.stretches():
            for one, two in _numbered(stretch):
                if _ahead(one, two) and not _repeats(one, two):
                    rows.append(SequenceJump(**place(log, two), **_jump(one, two)))
    return tuple(sorted(rows))


def sequence_repeats(logs: Logs) -> tuple[SequenceJump, ...]:
    """One row per batch that begins with a sequence number which the log has before it."""
    return tuple(
        sorted(
            SequenceJump(**place(log, two), **_jump(one, two))
            for log in logs.replicas
            for one, two in _numbered(log.sound)
            if _repeats(one, two)
        )
    )


def _numbered(batches: list[Batch] | tuple[Batch, ...]) -> Iterator[tuple[Batch, Batch]]:
    """Batches with sequence numbers, and of the same producer the one that comes next."""
    for of_producer in by_producer(batches).values():
        yield from pairwise(batch for batch in of_producer if batch.base_sequence >= 0)


def _next(one: Batch, two: Batch) -> int:
    same = two.producer_epoch == one.producer_epoch
    return (one.last_sequence + 1) % SEQUENCE_NUMBERS if same else 0


def _ahead(one: Batch, two: Batch) -> int:
    """How far the second begins ahead of the next number; nothing is said of an older epoch."""
    if two.producer_epoch < one.producer_epoch:
        return 0
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
    """One row per batch of a producer whose epoch is below that of the batch before it."""
    return tuple(
        sorted(
            ProducerEpochBack(
                **place(log, two),
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
    return count(logs, lambda b: b.sound and b.producer_id >= 0 and b.base_sequence >= 0)


def of_producers(logs: Logs) -> int:
    return count(logs, lambda batch: batch.sound and batch.producer_id >= 0)


def _tell(row: SequenceJump) -> str:
    return (
        f"{row}: producer {row.producer_id}, epoch {row.producer_epoch}: the batch at offset "
        f"{row.offset} begins at sequence number {row.sequence}; behind its batch at offset "
        f"{row.earlier_offset} the next one is {row.next_sequence}."
    )


CHECKS: Final = (
    Check(
        id="sequence-gap",
        statement="The records of an idempotent producer lie in a log without a gap.",
        rule=(
            "With no offset missing between them, a batch of a producer begins ahead of the next "
            "sequence number; or its epoch is new, and it does not begin at 0."
        ),
        explanation=(
            "The leader took a batch while an earlier one was not there: records are out of order "
            "or lost. A broker that has forgotten the producer takes any number."
        ),
        source="ProducerAppendInfo.checkSequence; claims: exactly_once_publish; KAFKA-15591",
        observes="batches with sequence numbers",
        row=SequenceJump,
        find=sequence_gaps,
        observed=numbered,
        explain=_tell,
    ),
    Check(
        id="sequence-repeat",
        statement="The records of an idempotent producer lie in a log once.",
        rule=(
            "A batch of a producer begins at or behind a sequence number that the batch of the "
            "same producer and epoch before it has."
        ),
        explanation="A retry was appended again: consumers read the records twice.",
        source="ProducerStateEntry.findDuplicateBatch; claims: exactly_once_publish",
        observes="batches with sequence numbers",
        row=SequenceJump,
        find=sequence_repeats,
        observed=numbered,
        explain=_tell,
    ),
    Check(
        id="producer-epoch-order",
        statement="Producer epochs of a producer id never go down.",
        rule="A batch or marker has a lower producer epoch than the one of its producer before it.",
        explanation=(
            "A producer that was fenced wrote again: a zombie. What it wrote belongs to no "
            "transaction that anybody will end."
        ),
        source="ProducerAppendInfo.checkProducerEpoch; KIP-98, KIP-360",
        observes="batches and markers of producers",
        row=ProducerEpochBack,
        find=producer_epochs_back,
        observed=of_producers,
        explain=lambda row: (
            f"{row}: producer {row.producer_id}: epoch {row.producer_epoch} at offset "
            f"{row.offset}, behind epoch {row.earlier_producer_epoch} at offset "
            f"{row.earlier_offset}."
        ),
    ),
)
