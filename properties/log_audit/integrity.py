"""Every byte of a segment is part of a batch, and every batch is what was once written.

The checksum covers all that a producer sends. A broker writes the base offset and the leader epoch
outside it; other checks look at these.

Source: Kafka documentation, "Record Batch"; LogSegment.recover, which cuts a log at the first byte
that is no valid batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Place, count, many, place
from properties.log_audit.log import Logs

NOT_STOPPED: Final = "not shut down in order"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class NoBatch(Place):
    """Bytes up to the end of a segment that hold no batch."""

    size: int  # in bytes
    stopped: int  # 1: the broker was shut down in order


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BadBatch(Place):
    """A batch that cannot be read."""

    size: int  # in bytes


def torn_tails(logs: Logs) -> tuple[NoBatch, ...]:
    """One row per newest segment that ends within a batch."""
    return _no_batch(logs, torn_tail=True)


def unreadable_bytes(logs: Logs) -> tuple[NoBatch, ...]:
    """One row per segment that ends in bytes which are no batch, but for torn tails."""
    return _no_batch(logs, torn_tail=False)


def _no_batch(logs: Logs, *, torn_tail: bool) -> tuple[NoBatch, ...]:
    return tuple(
        sorted(
            NoBatch(
                partition=log.beside.partition,
                offset=fragment.offset,
                replica=log.beside.replica,
                segment=fragment.segment,
                position=fragment.position,
                size=fragment.size,
                stopped=int(log.beside.stopped),
            )
            for log in logs.replicas
            for fragment in log.fragments
            if torn_tail == (fragment.torn and fragment.segment == log.beside.segments[-1])
        )
    )


def bad_checksums(logs: Logs) -> tuple[BadBatch, ...]:
    return _bad(logs, "checksum")


def bad_records(logs: Logs) -> tuple[BadBatch, ...]:
    return _bad(logs, "records")


def old_batches(logs: Logs) -> tuple[BadBatch, ...]:
    return _bad(logs, "old")


def _bad(logs: Logs, fault: str) -> tuple[BadBatch, ...]:
    return tuple(
        sorted(
            BadBatch(**place(log, batch), size=batch.size)
            for log in logs.replicas
            for batch in log.batches
            if batch.fault == fault
        )
    )


def segments(logs: Logs) -> int:
    return sum(len(log.beside.segments) for log in logs.replicas)


def batches(logs: Logs) -> int:
    return count(logs, lambda batch: True)


def whole_batches(logs: Logs) -> int:
    return count(logs, lambda batch: batch.fault in ("", "records"))


def _tell_torn(row: NoBatch) -> str:
    how = "was shut down in order" if row.stopped else "was not shut down in order"
    return (
        f"{row}: the log ends at offset {row.offset} within a batch, of which "
        f"{many(row.size, 'byte')} are there; the broker {how}."
    )


CHECKS: Final = (
    Check(
        id="torn-tail",
        statement="A log ends with a whole batch.",
        rule=(
            "The newest segment ends in the beginning of a batch, or in zeros, of which no batch "
            "consists."
        ),
        explanation=(
            "A broker that dies while it writes leaves this. When it starts again it cuts the log "
            "there. After an orderly stop there is nothing to cut, and the bytes are damage."
        ),
        permits={NOT_STOPPED: "the broker cuts the torn batch off when it recovers"},
        permitted=lambda row: None if row.stopped else NOT_STOPPED,
        source="LogSegment.recover; claims: committed_survives",
        observes="segments",
        row=NoBatch,
        find=torn_tails,
        observed=segments,
        explain=_tell_torn,
    ),
    Check(
        id="unreadable-bytes",
        statement="A segment consists of batches.",
        rule=(
            "Bytes up to the end of a segment hold no batch: they have no known magic number or an "
            "impossible length, or a batch ends too early in a segment that is not the newest."
        ),
        explanation=(
            "Only the newest segment is written to. What lies behind these bytes in the segment is "
            "lost to every reader, and nothing more was read of it here."
        ),
        source="FileRecords, DefaultRecordBatch",
        observes="segments",
        row=NoBatch,
        find=unreadable_bytes,
        observed=segments,
        explain=lambda row: (
            f"{row}: {many(row.size, 'byte')} up to the end of the segment hold no batch; offset "
            f"{row.offset} would come next."
        ),
    ),
    Check(
        id="checksum",
        statement="The checksum of a batch is that of its bytes.",
        rule="The CRC-32C of a batch, from its attributes on, is not the one in its header.",
        explanation=(
            "The bytes are not those that the producer signed: a disk, a memory or a write changed "
            "them. Consumers refuse the batch. Of its neighbours nothing is said."
        ),
        source="Kafka documentation, Record Batch; DefaultRecordBatch.ensureValid",
        observes="batches",
        row=BadBatch,
        find=bad_checksums,
        observed=batches,
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset}, {many(row.size, 'byte')}, does not have its "
            "checksum."
        ),
    ),
    Check(
        id="malformed-records",
        statement="The records of a batch are as many as its header says, at ascending offsets.",
        rule=(
            "The checksum is right, and yet the records cannot be unpacked, a record does not end "
            "where it says, there are more or fewer than the header counts, or their offsets do "
            "not ascend within the header's."
        ),
        explanation=(
            "The client that made the batch, or what changed it since, wrote nonsense and signed "
            "it; the broker should have refused it."
        ),
        source="DefaultRecord.readFrom; LogValidator",
        observes="batches with the right checksum",
        row=BadBatch,
        find=bad_records,
        observed=whole_batches,
        explain=lambda row: (
            f"{row}: the records of the batch at offset {row.offset} are not what its header says."
        ),
    ),
    Check(
        id="old-format",
        statement="Every batch is of version 2 of the message format.",
        rule="A message is of magic 0 or 1.",
        explanation=(
            "Kafka has written version 2 since 0.11 and only it since 4.0. Older messages are told "
            "and not audited: neither their checksums nor what is inside them."
        ),
        source="KIP-98, KIP-724",
        observes="batches",
        row=BadBatch,
        find=old_batches,
        unread=True,
        observed=batches,
        explain=lambda row: (
            f"{row}: the message at offset {row.offset} is of magic 0 or 1 and was not audited."
        ),
    ),
)
