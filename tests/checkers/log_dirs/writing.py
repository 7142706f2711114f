"""Writes logs to disk as a broker stores them: segments, checkpoints and transaction indexes.

A batch with the fault `checksum` gets a wrong checksum; all other checksums are correct. Sizes and
positions in the files are correct.

Source: Kafka documentation, "Record Batch"; DefaultRecordBatch, OffsetCheckpointFile,
LeaderEpochCheckpointFile, TransactionIndex and ProducerStateManager of Kafka.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import cramjam
import google_crc32c

from checkers.log_dirs import folders
from properties.log_audit.log import Batch, Logs, Record, ReplicaLog, Snapshot
from tests.checkers.log_dirs import plain

_PACK: Final[tuple[Callable[[bytes], Any], ...]] = (  # by the number of the compression
    lambda data: data,
    lambda data: cramjam.gzip.compress(data),
    lambda data: cramjam.snappy.compress_raw(data),
    lambda data: cramjam.lz4.compress(data),
    lambda data: cramjam.zstd.compress(data),
)
COMPRESSIONS: Final = range(len(_PACK))
_CRC_AT: Final = 17
_JUNK: Final = b"\x07"  # repeated, a magic that no version has


def write(logs: Logs, into: Path, compressions: Sequence[int] = (0,)) -> list[Path]:
    """Writes a directory for each replica (each broker), and returns the paths of the directories.

    The batches of a log use the compressions in turn: the first batch the first one, and so on.
    """
    replicas = sorted({log.metadata.replica for log in logs.replicas})
    for replica in replicas:
        of_replica = [log for log in logs.replicas if log.metadata.replica == replica]
        folder = into / replica
        folder.mkdir(parents=True)
        for log in of_replica:
            _write_log(log, folder / log.metadata.partition, compressions)
        watermarks = [(log.metadata.partition, log.metadata.high_watermark) for log in of_replica]
        _checkpoint(folder / folders.HIGH_WATERMARKS, _lines(watermarks))
        cleaned = [(log.metadata.partition, log.metadata.cleaned_to or None) for log in of_replica]
        _checkpoint(folder / folders.CLEANED, _lines(cleaned))
        if any(log.metadata.stopped for log in of_replica):
            (folder / folders.STOPPED).write_text("")
    return [into / replica for replica in replicas]


def _lines(offsets: Iterable[tuple[str, int | None]]) -> list[str]:
    return [f"{name.replace('-', ' ')} {at}" for name, at in offsets if at is not None]


def _checkpoint(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")


def _write_log(log: ReplicaLog, folder: Path, compressions: Sequence[int]) -> None:
    folder.mkdir()
    numbered = list(enumerate(log.batches))
    for segment in log.metadata.segments:
        data = b"".join(
            encoded(batch, compressions[number % len(compressions)])
            for number, batch in numbered
            if batch.segment == segment
        )
        for fragment in log.fragments:
            if fragment.segment == segment:
                whole = plain.HEADER.pack(fragment.offset, 2**20, 0, 2, *[0] * 9)
                data += (whole if fragment.torn else _JUNK * fragment.size)[: fragment.size]
        (folder / segment).write_bytes(data)
    if log.metadata.leader_epochs is not None:
        lines = [f"{epoch} {start}" for epoch, start in log.metadata.leader_epochs]
        _checkpoint(folder / folders.LEADER_EPOCHS, lines)
    if log.metadata.snapshot is not None:
        _write_snapshot(log.metadata.snapshot, folder)
    if log.metadata.aborted is not None:
        (folder / log.metadata.segments[-1]).with_suffix(".index").write_bytes(b"")
        for segment in log.metadata.segments:
            entries = [
                folders.ABORTED.pack(0, one.producer_id, one.first_offset, one.last_offset, 0)
                for one in log.metadata.aborted
                if one.segment == segment
            ]
            if entries:
                (folder / segment).with_suffix(".txnindex").write_bytes(b"".join(entries))


def _write_snapshot(snapshot: Snapshot, folder: Path) -> None:
    entries = [
        folders.PRODUCER.pack(
            one.producer_id,
            one.producer_epoch,
            one.last_sequence,
            one.last_offset,
            0,
            0,
            one.coordinator_epoch,
            one.first_offset,
        )
        for one in snapshot.producers
    ]
    signed_bytes = struct.pack(">i", len(entries)) + b"".join(entries)
    crc = google_crc32c.value(signed_bytes)
    file = folder / f"{snapshot.offset:020}.snapshot"
    file.write_bytes(struct.pack(">hI", 1, crc) + signed_bytes)


# ---------------------------------------------------------------- batches


def encoded(batch: Batch, compression: int = 0) -> bytes:
    if batch.fault == "old":
        return struct.pack(">qiIbbqii", batch.base_offset, 22, 0, 1, 0, 0, -1, -1)
    deltas = [record.offset - batch.base_offset for record in batch.records]
    body = bytes(_PACK[compression](b"".join(map(_record, deltas, batch.records))))
    if batch.marker:
        kind = plain.MARKERS.index(batch.marker)
        value = struct.pack(">hi", 0, batch.coordinator_epoch)
        body, compression = record(0, key=struct.pack(">hh", 0, kind), value=value), 0
    if batch.fault == "records":
        body, compression = b"\x7f", 0
    head = plain.HEADER.pack(
        batch.base_offset,
        plain.SMALLEST + len(body),
        batch.leader_epoch,
        2,
        0,
        compression | plain.TRANSACTIONAL * batch.transactional | plain.CONTROL * batch.control,
        batch.last_offset - batch.base_offset,
        batch.max_timestamp_ms,
        batch.max_timestamp_ms,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        max(len(batch.records), bool(batch.marker)),
    )
    whole = signed(head + body)
    return whole[:-1] + bytes([whole[-1] ^ 1]) if batch.fault == "checksum" else whole


def signed(batch: bytes) -> bytes:
    crc = google_crc32c.value(batch[plain.SIGNED_FROM :])
    return batch[:_CRC_AT] + struct.pack(">I", crc) + batch[plain.SIGNED_FROM :]


def _record(offset_delta: int, of: Record) -> bytes:
    return record(offset_delta, value=of.content.encode())


def record(
    offset_delta: int,
    *,
    timestamp_delta_ms: int = 0,
    key: bytes | None = None,
    value: bytes | None = None,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    body = b"".join(
        (
            b"\0",
            varint(timestamp_delta_ms),
            varint(offset_delta),
            _sized(key),
            _sized(value),
            varint(len(headers)),
            *(_sized(name) + _sized(of) for name, of in headers),
        )
    )
    return varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def varint(number: int) -> bytes:
    rest, encoding = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        encoding.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoding, rest])
