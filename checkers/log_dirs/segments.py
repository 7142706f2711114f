"""Segments as Arrow tables: a row a batch, or a row a record, read with NumPy.

A row of BATCHES is a batch, or bytes at the end of a segment that hold none: `fault` says which.
Checksums are taken batch by batch; records are unpacked and walked side by side (`records`).
A row of RECORDS is a record as far as replicas must agree on it.

The law: the same as `plain.read`.
Simplified: as `plain`. Two records that differ are taken for the same if key, value and headers
have the same length and CRC-32C.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.log_dirs.compression import KIND, NotPacked, unpacked
from checkers.log_dirs.folders import Segment, UnreadableLogDir
from checkers.log_dirs.headers import HEADER, MAGIC, Block, Rest, blocks
from checkers.log_dirs.records import Bytes, Ints, Records, parsed
from properties.log_audit.log import base_offset

NO_FAULT: Final = 0
CHECKSUM: Final = 1
MALFORMED: Final = 2
OLD: Final = 3
TORN: Final = 4  # no batch, but the beginning of one
JUNK: Final = 5  # no batch
NO_MARKER: Final = -1
ABORT: Final = 0
COMMIT: Final = 1
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
LAST_OFFSET: Final = 2**63 - 2

_SIGNED_FROM: Final = 21
_LOG_APPEND_TIME: Final = 0x08
_MARKER_KEY_BYTES: Final = 4  # version, kind
_MARKER_VALUE_BYTES: Final = 6  # version, coordinator epoch

_PLACE: Final = [
    ("partition", pa.int32()),  # numbers of the LogDirs, as the next two
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
    """The segment as rows of BATCHES; UnreadableLogDir when the file cannot be read."""
    next_offset = base_offset(segment.path.name)
    for block in _read(segment):
        if isinstance(block, Rest):
            yield _rows(segment, BATCHES, _fragment(block, next_offset))
        else:
            columns = _columns(block)
            next_offset = int(columns["last_offset"][-1]) + 1
            yield _rows(segment, BATCHES, columns)


def records(segment: Segment, positions: Collection[int]) -> Iterator[pa.RecordBatch]:
    """The sound batches that begin at these bytes of the segment, as rows of RECORDS."""
    wanted = np.array(sorted(positions), np.int64)
    for block in _read(segment):
        if isinstance(block, Block):
            chosen = np.isin(block.begins + block.at, wanted)
            if chosen.any():
                yield _rows(segment, RECORDS, _record_columns(block, chosen))


def _read(segment: Segment) -> Iterator[Block | Rest]:
    try:
        with segment.path.open("rb") as file:
            yield from blocks(file)
    except OSError as error:
        raise UnreadableLogDir(
            f"{segment.path}: {error.strerror}; check who may read it"
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
    told = {
        **dict.fromkeys(BATCHES.names[3:], -1),
        **nothing,
        "position": rest.at,
        "size": rest.size,
        "base_offset": next_offset,
        "last_offset": next_offset,
        "fault": TORN if rest.torn else JUNK,
    }
    return {name: np.array([value]) for name, value in told.items()}


# ---------------------------------------------------------------- batches


def _columns(block: Block) -> Mapping[str, npt.NDArray[Any]]:
    columns = {name: block.headers[name].astype(np.int64) for name in HEADER.names or ()}
    fault = _faults(block)
    data, found = _records_of(block, fault == NO_FAULT)
    fault[found.malformed] = MALFORMED
    marker, coordinator_epoch = _markers(columns["attributes"], data, found)
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
    """What is wrong with each batch as a whole."""
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


def _records_of(block: Block, wanted: npt.NDArray[np.bool_]) -> tuple[bytes, Records]:
    """The records of the wanted batches, and the bytes in which they lie, unpacked."""
    attributes = block.headers["attributes"]
    starts, ends = block.begins + HEADER.itemsize, block.ends.copy()
    counts = np.where(wanted, block.headers["record_count"], 0).astype(np.int64)
    ends[~wanted] = starts[~wanted]
    bodies, behind = [block.data], len(block.data)
    for one in np.flatnonzero(wanted & (attributes & KIND != 0)).tolist():
        try:
            body = unpacked(int(attributes[one]), block.data[starts[one] : ends[one]])
        except NotPacked:
            counts[one] = -1
        else:
            bodies.append(body)
            starts[one], ends[one], behind = behind, behind + len(body), behind + len(body)
    data = b"".join(bodies) if len(bodies) > 1 else block.data
    last_deltas = block.headers["last_offset_delta"].astype(np.int64)
    last_deltas[~wanted] = 0
    return data, parsed(data, starts, ends, counts, last_deltas)


def _markers(attributes: Ints, data: bytes, found: Records) -> tuple[Ints, Ints]:
    """What each batch says of a transaction, and the epoch of the coordinator that said it."""
    marker = np.full(len(attributes), NO_MARKER)
    coordinator_epoch = np.full(len(attributes), -1)
    view = np.frombuffer(data, np.uint8)
    batch, first = np.unique(found.batch, return_index=True)
    first = first[attributes[batch] & CONTROL != 0]
    long_enough = (found.key_length[first] >= _MARKER_KEY_BYTES) & (
        found.value_length[first] >= _MARKER_VALUE_BYTES
    )
    first = first[long_enough]
    kind = _big_endian(view, found.key[first] + 2, ">i2")
    first, kind = (
        first[(kind == ABORT) | (kind == COMMIT)],
        kind[(kind == ABORT) | (kind == COMMIT)],
    )
    marker[found.batch[first]] = kind
    coordinator_epoch[found.batch[first]] = _big_endian(view, found.value[first] + 2, ">i4")
    return marker, coordinator_epoch


def _big_endian(view: Bytes, at: Ints, kind: str) -> Ints:
    size = np.dtype(kind).itemsize
    numbers: Ints = view[at[:, None] + np.arange(size)].view(kind)[:, 0].astype(np.int64)
    return numbers


# ---------------------------------------------------------------- records


def _record_columns(block: Block, chosen: npt.NDArray[np.bool_]) -> Mapping[str, npt.NDArray[Any]]:
    headers = block.headers
    data, found = _records_of(block, chosen & (_faults(block) == NO_FAULT))
    of, batch = {n: headers[n].astype(np.int64) for n in HEADER.names or ()}, found.batch
    stamped = of["attributes"][batch] & _LOG_APPEND_TIME != 0
    return {
        "position": (block.begins + block.at)[batch],
        "offset": of["base_offset"][batch] + found.offset_delta,
        "leader_epoch": of["leader_epoch"][batch],
        "attributes": of["attributes"][batch] & (TRANSACTIONAL | CONTROL),
        "producer_id": of["producer_id"][batch],
        "producer_epoch": of["producer_epoch"][batch],
        "timestamp_ms": np.where(
            stamped,
            of["max_timestamp_ms"][batch],
            of["base_timestamp_ms"][batch] + found.timestamp_delta_ms,
        ),
        "digest": np.array(
            [
                (end - begin) << 32 | google_crc32c.value(data[begin:end])
                for begin, end in zip(found.payload.tolist(), found.end.tolist(), strict=True)
            ],
            np.int64,
        ),
    }
