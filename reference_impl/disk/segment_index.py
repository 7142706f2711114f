"""The index files of a segment, in Kafka's formats. Each line has a file, and the fields of one
entry in brackets:

    00000000000000000042.index       [last offset of a batch - 42: i32, its position: i32] ...
    00000000000000000042.timeindex   [newest timestamp so far: i64, its offset - 42: i32] ...
    00000000000000000042.txnindex    [version: i16, producer id, first offset, marker's offset, last
                                      stable offset after the marker: i64] ...

The first two files get an entry for a batch that begins more than 4096 bytes after the batch of the
previous entry. The last file has an entry for each aborted transaction whose marker is in the
segment; without such a transaction there is no file.

Every closed segment has index files. The open segment has at most the `.txnindex` before a clean
stop. Kafka and its tools read these files. This broker does not read them, because it searches in
memory.

Source: LogSegment.recover, OffsetIndex, TimeIndex.maybeAppend, TransactionIndex and AbortedTxn of
Kafka; ProducerStateManager.lastStableOffset.
Simplified: index.interval.bytes has its default value for every topic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from model.vocabulary import Offset, ProducerId
from reference_impl.disk.files import append, replace_file
from reference_impl.disk.files import delete as delete_file
from reference_impl.log import transaction_marker
from reference_impl.log.open_transactions import Ended, PartitionTransactions
from reference_impl.log.segment import NEVER_MS, Batch, Segment

INTERVAL_BYTES: Final = 4_096
OFFSETS: Final = ".index"
TIMES: Final = ".timeindex"
TRANSACTIONS: Final = ".txnindex"
SUFFIXES: Final = (OFFSETS, TIMES, TRANSACTIONS)
_POSITION: Final = struct.Struct(">ii")
_TIME: Final = struct.Struct(">qi")
_ABORTED: Final = struct.Struct(">hqqqq")
_VERSION: Final = 0
Open = Mapping[ProducerId, Offset]  # the first offset of each open transaction


def write(path: Path, segment: Segment, open_before: Open) -> None:
    """Writes the index files of a segment file. An index file that is correct already is not
    written.

    `open_before` has the transactions that are open at the first offset of the segment.
    """
    for suffix, data in indexes(segment, open_before).items():
        _replace(path, suffix, data)


def write_open(path: Path, segment: Segment, open_before: Open) -> None:
    """Writes the `.txnindex` of the active segment, and deletes its other index files, because
    later appends do not update them.

    `open_before` has the transactions that are open at the first offset of the segment.
    """
    delete_file(path.with_suffix(OFFSETS))
    delete_file(path.with_suffix(TIMES))
    _replace(path, TRANSACTIONS, _aborted(segment.batches, open_before))


def append_aborted(path: Path, ended: Iterable[Ended], open_after: Open) -> None:
    """Adds aborted transactions to the `.txnindex` of a segment file.

    `ended` has the transactions whose abort markers were just appended. `open_after` has the
    transactions that are still open after these markers.
    """
    entries = (
        _entry(one, (first for first in open_after.values() if first < one.marker_offset))
        for one in ended
    )
    if data := b"".join(entries):
        append(path.with_suffix(TRANSACTIONS), data)


def _replace(path: Path, suffix: str, data: bytes) -> None:
    file = path.with_suffix(suffix)
    if not data and suffix == TRANSACTIONS:
        delete_file(file)
    elif not file.exists() or file.read_bytes() != data:
        replace_file(file, data, flushes=False)


def _entry(ended: Ended, still_open: Iterable[Offset]) -> bytes:
    stable = next(iter(still_open), ended.marker_offset + 1)
    return _ABORTED.pack(_VERSION, *ended, stable)


def delete(path: Path) -> None:
    for file in files(path):
        delete_file(file)


def files(path: Path) -> tuple[Path, ...]:
    """Returns the paths of the segment's index files. Some of these files may not exist."""
    return tuple(path.with_suffix(suffix) for suffix in SUFFIXES)


def indexes(segment: Segment, open_before: Open) -> dict[str, bytes]:
    """Returns the content of each index file. The key is the suffix of the file."""
    offsets, times = bytearray(), bytearray()
    newest_ms, offset_of_newest, written_ms = NEVER_MS, segment.base_offset, NEVER_MS
    position = last_entry = 0
    for head, data in segment.batches:
        if head.max_timestamp_ms > newest_ms:
            newest_ms, offset_of_newest = head.max_timestamp_ms, head.last_offset
        if position - last_entry > INTERVAL_BYTES:
            offsets += _POSITION.pack(head.last_offset - segment.base_offset, position)
            if newest_ms > written_ms:
                times += _TIME.pack(newest_ms, offset_of_newest - segment.base_offset)
                written_ms = newest_ms
            last_entry = position
        position += len(data)
    if newest_ms > written_ms:
        times += _TIME.pack(newest_ms, offset_of_newest - segment.base_offset)
    aborted = _aborted(segment.batches, open_before)
    return {OFFSETS: bytes(offsets), TIMES: bytes(times), TRANSACTIONS: aborted}


def _aborted(batches: Iterable[Batch], open_before: Open) -> bytes:
    transactions = PartitionTransactions(open=open_before)
    out = bytearray()
    for batch in batches:
        head = batch.header
        if head.is_control:
            marker = transaction_marker.read(batch.data)
            known = len(transactions.aborted)
            transactions = transactions.with_marker(batch, marker)
            for ended in transactions.aborted.since(known):
                out += _entry(ended, transactions.open.values())
        elif head.is_transactional:
            transactions = transactions.with_records(batch)
    return bytes(out)
