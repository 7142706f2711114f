"""Every byte of a segment is part of a batch, and every batch is unchanged since it was written.

The checksum of a batch covers the bytes that a producer sends. It does not cover the base offset
and the leader epoch, because a broker writes these two fields. Other checks cover them.

Source: Kafka documentation, "Record Batch"; LogSegment.recover, which truncates a log at the first
byte that is no valid batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Location, count, location, many
from properties.log_audit.log import Logs

NOT_STOPPED: Final = "no clean shutdown"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class NoBatch(Location):
    """The bytes at the end of a segment that do not form a complete batch."""

    size: int  # in bytes
    stopped: int  # 1: after a clean shutdown


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BadBatch(Location):
    """A batch that the audit cannot read. Either its checksum is wrong, or its records are
    malformed, or its format is old.
    """

    size: int  # in bytes


def torn_tails(logs: Logs) -> tuple[NoBatch, ...]:
    return _no_batch(logs, torn_tail=True)


def unreadable_bytes(logs: Logs) -> tuple[NoBatch, ...]:
    """Returns one violation for each segment whose last bytes form no batch.

    An incomplete batch or zeros at the end of the newest segment are not included: `torn_tails`
    returns them.
    """
    return _no_batch(logs, torn_tail=False)


def _no_batch(logs: Logs, *, torn_tail: bool) -> tuple[NoBatch, ...]:
    return tuple(
        sorted(
            NoBatch(
                partition=log.metadata.partition,
                offset=fragment.offset,
                replica=log.metadata.replica,
                segment=fragment.segment,
                position=fragment.position,
                size=fragment.size,
                stopped=int(log.metadata.stopped),
            )
            for log in logs.replicas
            for fragment in log.fragments
            if torn_tail == (fragment.torn and fragment.segment == log.metadata.segments[-1])
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
            BadBatch(**location(log, batch), size=batch.size)
            for log in logs.replicas
            for batch in log.batches
            if batch.fault == fault
        )
    )


def segments(logs: Logs) -> int:
    return sum(len(log.metadata.segments) for log in logs.replicas)


def batches(logs: Logs) -> int:
    return count(logs, lambda batch: True)


def whole_batches(logs: Logs) -> int:
    return count(logs, lambda batch: batch.fault in ("", "records"))


def _explain_torn(row: NoBatch) -> str:
    how = "after a clean shutdown" if row.stopped else "without a clean shutdown"
    return (
        f"{row}: the log ends at offset {row.offset} with {many(row.size, 'byte')} of an "
        f"incomplete batch, {how}."
    )


CHECKS: Final = (
    Check(
        id="torn-tail",
        statement="A log ends with a complete batch.",
        rule=("The newest segment ends with an incomplete batch or with zeros."),
        explanation=(
            "A crash during a write leaves an incomplete batch, which recovery truncates; after a "
            "clean shutdown such bytes are damage."
        ),
        permits={NOT_STOPPED: "the broker truncates the incomplete batch when it recovers"},
        permitted=lambda row: None if row.stopped else NOT_STOPPED,
        source="LogSegment.recover; claims: committed_survives",
        observes="segments",
        row=NoBatch,
        find=torn_tails,
        observed=segments,
        explain=_explain_torn,
    ),
    Check(
        id="unreadable-bytes",
        statement="A segment consists of batches only.",
        rule=(
            "The last bytes of a segment hold no batch: they have an unknown magic number or an "
            "impossible length, or are an incomplete batch in a segment that is not the newest."
        ),
        explanation=(
            "Readers cannot read past these bytes in the segment, so all records after them are "
            "lost; this audit did not read them either."
        ),
        source="FileRecords, DefaultRecordBatch",
        observes="segments",
        row=NoBatch,
        find=unreadable_bytes,
        observed=segments,
        explain=lambda row: (
            f"{row}: the last {many(row.size, 'byte')} of the segment hold no batch; the next "
            f"offset would be {row.offset}."
        ),
    ),
    Check(
        id="checksum",
        statement="The checksum in a batch's header is the checksum of its bytes.",
        rule="The CRC-32C of a batch, from its attributes on, is not the one in its header.",
        explanation=(
            "A disk, memory or write fault changed the bytes after the producer computed the "
            "checksum, so consumers refuse the batch."
        ),
        source="Kafka documentation, Record Batch; DefaultRecordBatch.ensureValid",
        observes="batches",
        row=BadBatch,
        find=bad_checksums,
        observed=batches,
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset}, {many(row.size, 'byte')}, has a wrong "
            "checksum."
        ),
    ),
    Check(
        id="malformed-records",
        statement="A batch has as many records as its header says, at ascending offsets.",
        rule=(
            "The checksum of a batch is right, but its records cannot be decompressed, have wrong "
            "lengths, differ in number from the header, or have offsets that do not ascend within "
            "the header's range."
        ),
        explanation=(
            "A client or broker wrote malformed records and computed a checksum over them; the "
            "broker should have refused the batch."
        ),
        source="DefaultRecord.readFrom; LogValidator",
        observes="batches with the right checksum",
        row=BadBatch,
        find=bad_records,
        observed=whole_batches,
        explain=lambda row: (
            f"{row}: the records of the batch at offset {row.offset} do not match its header."
        ),
    ),
    Check(
        id="old-format",
        statement="Every batch has version 2 of the message format.",
        rule="A message has magic 0 or 1.",
        explanation=(
            "Kafka writes version 2 since 0.11, and no other since 4.0; older messages are listed "
            "here but not audited."
        ),
        source="KIP-98, KIP-724",
        observes="batches",
        row=BadBatch,
        find=old_batches,
        unread=True,
        observed=batches,
        explain=lambda row: (
            f"{row}: the message at offset {row.offset} has magic 0 or 1 and was not audited."
        ),
    ),
)
