"""Reads segments as Arrow tables, with NumPy. A table has one row for each batch (the schema
BATCHES), or one row for each record (the schema RECORDS).

A row of BATCHES is a batch, or the bytes at the end of a segment that are no batch. The column
`fault` distinguishes these two cases. A row of RECORDS has those fields of a record that must be
equal in all replicas.

For any file, the result equals the result of the reader in `tests/checkers/log_dirs/plain.py`.

Simplified: from messages of magic 0 and 1, only position and offset are read. Two different records
count as equal if key, value and headers have the same length and CRC-32C.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.log_dirs.compression import KIND, NotPacked, unpacked
from checkers.log_dirs.folders import Segment, UnreadableLogDir
from checkers.log_dirs.headers import HEADER, MAGIC, Block, Rest, blocks
from checkers.log_dirs.records import Bytes, Flags, Ints, Records, parsed
from properties.log_audit.log import base_offset

NO_FAULT: Final = 0
CHECKSUM: Final = 1
MALFORMED: Final = 2
OLD: Final = 3
TORN: Final = 4  # a batch that is cut short
JUNK: Final = 5  # bytes that are no batch
NO_MARKER: Final = -1
ABORT: Final = 0
COMMIT: Final = 1
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
LAST_OFFSET: Final = 2**63 - 2
UNPACKED_BYTES: Final = 64 << 20  # limit of decompressed bytes held at once

_SIGNED_FROM: Final = 21
_LOG_APPEND_TIME: Final = 0x08
_MARKER_KEY_BYTES: Final = 4  # version, kind
_MARKER_VALUE_BYTES: Final = 6  # version, coordinator epoch

_PLACE: Final = [
    ("partition", pa.int32()),  # an index in the LogDirs, like the next two
    ("log", pa.int32()),
    ("segment", pa.int32()),
    ("position", pa.int64()),
]
BATCHES: Final = pa.schema(
    [
        *_PLACE,
        ("size", pa.int64()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("fault", pa.int8()),
        ("crc", pa.int64()),
        ("attributes", pa.int16()),
        ("max_timestamp_ms", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("record_count", pa.int32()),
        ("marker", pa.int8()),
        ("coordinator_epoch", pa.int32()),
    ]
)
RECORDS: Final = pa.schema(
    [
        *_PLACE,
        ("offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("attributes", pa.int16()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("timestamp_ms", pa.int64()),
        ("digest", pa.int64()),  # length and CRC-32C of key, value and headers
    ]
)


def batches(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Yields tables with the schema BATCHES. Each row is a record batch of the segment, in file
    order.

    The last row may describe bytes that are no whole batch. Raises UnreadableLogDir if the file
    cannot be read.
    """
    next_offset = base_offset(segment.path.name)
    for block in _read(segment):
        if isinstance(block, Rest):
            yield _rows(segment, BATCHES, _fragment(block, next_offset))
        else:
            columns = _columns(block)
            next_offset = int(columns["last_offset"][-1]) + 1
            yield _rows(segment, BATCHES, columns)


def records(segment: Segment, positions: Collection[int]) -> Iterator[pa.RecordBatch]:
    """Yields tables with the schema RECORDS: the records of the batches that begin at the byte
    positions `positions`.

    Batches with a fault are skipped. Raises UnreadableLogDir if the file cannot be read.
    """
    wanted = np.array(sorted(positions), np.int64)
    for block in _read(segment):
        if isinstance(block, Block):
            chosen = np.isin(block.begins + block.at, wanted)
            for columns in _record_columns(block, chosen) if chosen.any() else ():
                yield _rows(segment, RECORDS, columns)


def _read(segment: Segment) -> Iterator[Block | Rest]:
    try:
        with segment.path.open("rb") as file:
            yield from blocks(file)
    except OSError as error:
        raise UnreadableLogDir(
            f"{segment.path}: {error.strerror}; check its permissions"
        ) from error


def _rows(
    segment: Segment, schema: pa.Schema, columns: Mapping[str, npt.NDArray[Any]]
) -> pa.RecordBatch:
    length = len(columns["position"])
    numbers = {"partition": segment.partition, "log": segment.log, "segment": segment.number}
    return pa.RecordBatch.from_arrays(
        [
            pa.array(
                columns[f.name] if f.name in columns else np.full(length, numbers[f.name])
            ).cast(f.type)
            for f in schema
        ],
        schema=schema,
    )


def _fragment(rest: Rest, next_offset: int) -> Mapping[str, npt.NDArray[Any]]:
    nothing = dict.fromkeys(("crc", "attributes", "max_timestamp_ms", "record_count"), 0)
    cells = {
        **dict.fromkeys(BATCHES.names[3:], -1),
        **nothing,
        "position": rest.at,
        "size": rest.size,
        "base_offset": next_offset,
        "last_offset": next_offset,
        "fault": TORN if rest.torn else JUNK,
    }
    return {name: np.array([value]) for name, value in cells.items()}


# ---------------------------------------------------------------- batches


def _columns(block: Block) -> Mapping[str, npt.NDArray[Any]]:
    columns = {name: block.headers[name].astype(np.int64) for name in HEADER.names or ()}
    fault = _faults(block)
    marker, coordinator_epoch = np.full((2, len(fault)), -1)
    for part in _parts(block, fault == NO_FAULT):
        fault[part.batches][part.records.malformed] = MALFORMED
        control = columns["attributes"][part.batches] & CONTROL != 0
        marker[part.batches], coordinator_epoch[part.batches] = _markers(control, part)
    last_deltas = np.maximum(columns["last_offset_delta"], 0)
    bound = LAST_OFFSET - last_deltas
    return columns | {
        "position": block.begins + block.at,
        "size": block.ends - block.begins,
        "last_offset": np.minimum(columns["base_offset"], bound) + last_deltas,
        "fault": fault,
        "marker": marker,
        "coordinator_epoch": coordinator_epoch,
    }


def _faults(block: Block) -> Ints:
    data, of_bytes = block.data, google_crc32c.value
    actual = np.array(
        [
            of_bytes(data[begin + _SIGNED_FROM : end])
            for begin, end in zip(block.begins.tolist(), block.ends.tolist(), strict=True)
        ]
    )
    fault = np.where(actual == block.headers["crc"], NO_FAULT, CHECKSUM)
    faults: Ints = np.where(block.headers["magic"] == MAGIC, fault, OLD)
    return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    batches: slice
    data: bytes
    records: Records


def _parts(block: Block, wanted: Flags) -> Iterator[_Part]:
    attributes = block.headers["attributes"]
    starts, ends = block.begins + HEADER.itemsize, block.ends.copy()
    ends[~wanted] = starts[~wanted]
    counts = np.where(wanted, block.headers["record_count"], 0).astype(np.int64)
    last_deltas = np.where(wanted, block.headers["last_offset_delta"], 0).astype(np.int64)

    def part(first: int, last: int) -> _Part:
        of, data = slice(first, last), b"".join(bodies) if bodies[1:] else block.data
        found = parsed(data, starts[of], ends[of], counts[of], last_deltas[of])
        return _Part(batches=of, data=data, records=found)

    bodies, end, first = [block.data], len(block.data), 0
    for one in np.flatnonzero(wanted & (attributes & KIND != 0)).tolist():
        try:
            body = unpacked(int(attributes[one]), block.data[starts[one] : ends[one]])
        except NotPacked:
            counts[one] = -1
            continue
        if bodies[1:] and end + len(body) > UNPACKED_BYTES:
            yield part(first, one)
            bodies, end, first = [block.data], len(block.data), one
        bodies.append(body)
        starts[one], ends[one], end = end, end + len(body), end + len(body)
    yield part(first, len(counts))


def _markers(control: Flags, part: _Part) -> tuple[Ints, Ints]:
    # -1: no marker
    marker, coordinator_epoch = np.full((2, len(control)), -1)
    view, found = np.frombuffer(part.data, np.uint8), part.records
    batch, first = np.unique(found.batch, return_index=True)
    first = first[control[batch]]
    key_is_long = found.key_length[first] >= _MARKER_KEY_BYTES
    first = first[key_is_long & (found.value_length[first] >= _MARKER_VALUE_BYTES)]
    kind = _big_endian(view, found.key[first] + 2, ">i2")
    is_marker = (kind == ABORT) | (kind == COMMIT)
    first, kind = first[is_marker], kind[is_marker]
    marker[found.batch[first]] = kind
    coordinator_epoch[found.batch[first]] = _big_endian(view, found.value[first] + 2, ">i4")
    return marker, coordinator_epoch


def _big_endian(view: Bytes, at: Ints, kind: str) -> Ints:
    size = np.dtype(kind).itemsize
    numbers: Ints = view[at[:, None] + np.arange(size)].view(kind)[:, 0].astype(np.int64)
    return numbers


# ---------------------------------------------------------------- records


def _record_columns(block: Block, chosen: Flags) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    of = {name: block.headers[name].astype(np.int64) for name in HEADER.names or ()}
    for part in _parts(block, chosen & (_faults(block) == NO_FAULT)):
        found, batch = part.records, part.records.batch + part.batches.start
        stamped = of["attributes"][batch] & _LOG_APPEND_TIME != 0
        own_ms = of["base_timestamp_ms"][batch] + found.timestamp_delta_ms
        yield {
            "position": (block.begins + block.at)[batch],
            "offset": of["base_offset"][batch] + found.offset_delta,
            "leader_epoch": of["leader_epoch"][batch],
            "attributes": of["attributes"][batch] & (TRANSACTIONAL | CONTROL),
            "producer_id": of["producer_id"][batch],
            "producer_epoch": of["producer_epoch"][batch],
            "timestamp_ms": np.where(stamped, of["max_timestamp_ms"][batch], own_ms),
            "digest": np.array(
                [
                    (end - begin) << 32 | google_crc32c.value(part.data[begin:end])
                    for begin, end in zip(found.payload.tolist(), found.end.tolist(), strict=True)
                ],
                np.int64,
            ),
        }
