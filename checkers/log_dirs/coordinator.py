"""Reads the latest state of each transactional id from the log of the transaction coordinator.

This log is the topic `__transaction_state`. For each partition of the topic, the replica with the
longest log is read.

Source: Kafka message schemas TransactionLogKey and TransactionLogValue, versions 0 and 1.
Simplified: one process reads the whole topic. A batch with a wrong checksum is skipped. A value
that is malformed or that has an unknown version is skipped, too. If a producer has no state in the
topic, only the age of its open transaction decides whether the transaction hangs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, get_args

from checkers.log_dirs.folders import LogDirs
from properties.log_audit.log import CoordinatorEntry, CoordinatorState, LogMetadata
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import CorruptBatch, decode

TOPIC: Final = "__transaction_state-"
STATES: Final[tuple[CoordinatorState, ...]] = get_args(CoordinatorState)  # by their number
_KEY: Final = struct.Struct(">hh")  # version, length of the transactional id
_VALUE: Final = struct.Struct(">hqhib")  # version, producer id and epoch, timeout, state
_COUNT: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">h")


def coordinated(dirs: LogDirs) -> tuple[CoordinatorEntry, ...]:
    """Returns the latest state of every transactional id, sorted by id. Deleted transactional
    ids are left out.
    """
    longest: dict[str, tuple[tuple[str, int], LogMetadata]] = {}
    for log in dirs.logs:
        if log.partition.startswith(TOPIC):
            newest = log.segments[-1]
            end = newest, Path(log.replica, log.partition, newest).stat().st_size
            if end > longest.get(log.partition, (("", -1), log))[0]:
                longest[log.partition] = end, log
    states: dict[str, CoordinatorEntry] = {}
    for _, log in longest.values():
        for transactional_id, state in _values(log):
            states.pop(transactional_id, None)
            if state is not None:
                states[transactional_id] = state
    return tuple(states[transactional_id] for transactional_id in sorted(states))


def _values(log: LogMetadata) -> Iterator[tuple[str, CoordinatorEntry | None]]:
    for segment in log.segments:
        for record in _records(Path(log.replica, log.partition, segment).read_bytes()):
            key, value = record.key or b"", record.value
            try:
                version, length = _KEY.unpack_from(key)
                name = key[_KEY.size : _KEY.size + length].decode()
                if version == 0:
                    yield name, None if value is None else _value(name, value)
            except (struct.error, IndexError, UnicodeDecodeError):
                continue


def _records(segment: bytes) -> Iterator[Record]:
    with suppress(CorruptBatch):  # the end of the segment is torn
        for batch in batches(segment):
            with suppress(CorruptBatch):  # the checks of integrity report this batch
                yield from (record for _, record in decode(batch))


def _value(transactional_id: str, data: bytes) -> CoordinatorEntry:
    version, producer_id, producer_epoch, _, state = _VALUE.unpack_from(data)
    if version not in (0, 1):
        raise IndexError(f"version {version}")
    topics = _plain_topics(data) if version == 0 else _compact_topics(data)
    return CoordinatorEntry(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        state=STATES[state],
        partitions=tuple(sorted(f"{topic}-{index}" for topic, of in topics for index in of)),
    )


def _plain_topics(data: bytes) -> Iterator[tuple[str, tuple[int, ...]]]:
    (topics,) = _COUNT.unpack_from(data, _VALUE.size)
    at = _VALUE.size + _COUNT.size
    for _ in range(topics):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        topic = data[at - length : at].decode()
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        yield topic, struct.unpack_from(f">{count}i", data, at)
        at += 4 * count


def _compact_topics(data: bytes) -> Iterator[tuple[str, tuple[int, ...]]]:
    topics, at = _unsigned(data, _VALUE.size)
    for _ in range(topics - 1):
        length, at = _unsigned(data, at)
        at += length - 1
        topic = data[at - length + 1 : at].decode()
        count, at = _unsigned(data, at)
        yield topic, struct.unpack_from(f">{count - 1}i", data, at)
        at += 4 * (count - 1)
        tagged, at = _unsigned(data, at)
        for _ in range(tagged):
            _, at = _unsigned(data, at)
            size, at = _unsigned(data, at)
            at += size


def _unsigned(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7
