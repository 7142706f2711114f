"""Reads the headers of the record batches of a segment as columns. The length field of each batch
shows where the next batch begins, and NumPy decodes all headers of a block together.

A segment is read block by block. From messages of an old format (magic 0 or 1), only the offset is
read.

Source: Kafka documentation, "Record Batch"; FileLogInputStream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from checkers.log_dirs.records import Ints

BLOCK_BYTES: Final = 8 << 20
PREFIX_BYTES: Final = 12  # the base offset, and how many bytes follow
MAGIC_AT: Final = 16
MAGIC: Final = 2
LEAST: Final = {0: 14, 1: 14, 2: 49}  # by magic: bytes after the length field of an empty batch
_LENGTH: Final = struct.Struct(">i")

HEADER: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "u1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp_ms", ">i8"),
        ("max_timestamp_ms", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
_NOTHING: Final = {"leader_epoch": -1, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Consecutive whole record batches. For each batch, it has the start, the end and the
    header.
    """

    data: bytes
    at: int  # position of the data in the file
    begins: Ints
    ends: Ints
    headers: npt.NDArray[Any]  # of HEADER; old messages have only the offset and the magic


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The bytes at the end of a segment after its last whole record batch."""

    at: int
    size: int
    torn: bool  # True for the beginning of a batch, or zeros


def blocks(file: BinaryIO) -> Iterator[Block | Rest]:
    """Yields the record batches of the file, in blocks of many batches. If bytes remain after
    the last whole batch, a `Rest` follows at the end.
    """
    at, data = 0, b""
    while True:
        more = file.read(max(BLOCK_BYTES, len(data)))  # a batch may be larger than a block
        data += more
        begins, end = _hop(data)
        begins, end = _of_known_format(data, begins, end)
        if begins:
            yield _block(data, at, begins, end)
            at, data = at + end, data[end:]
        if not more or not _begins_a_batch(data):
            break
    if data:
        rest_is_zeros, rest_bytes = _zeros_and_bytes(file)
        zeros = not data.strip(b"\0") and rest_is_zeros
        size = len(data) + rest_bytes
        yield Rest(at=at, size=size, torn=zeros or _begins_a_batch(data))


def _hop(data: bytes) -> tuple[list[int], int]:
    """Returns the start positions of the whole batches in `data`, and the end position of the
    last whole batch.
    """
    begins: list[int] = []
    at, last, length_of = 0, len(data), _LENGTH.unpack_from
    while last - at > MAGIC_AT:
        (length,) = length_of(data, at + 8)
        end = at + PREFIX_BYTES + length
        if length < LEAST[0] or end > last:
            break
        begins.append(at)
        at = end
    return begins, at


def _of_known_format(data: bytes, begins: list[int], end: int) -> tuple[list[int], int]:
    """Returns the start positions of the batches before the first batch of unknown format, and
    the end position of the last of these batches. The end is 0 if there is no batch.
    """
    if not begins:
        return begins, 0
    at = np.array(begins)
    sizes = np.diff(at, append=end)
    magic = np.frombuffer(data, np.uint8)[at + MAGIC_AT]
    least = np.array([LEAST[0], LEAST[1], LEAST[2]])
    strange = (magic > MAGIC) | (sizes - PREFIX_BYTES < least[np.minimum(magic, MAGIC)])
    if not strange.any():
        return begins, end
    first = int(np.argmax(strange))
    return begins[:first], begins[first]


def _block(data: bytes, at: int, begun: list[int], end: int) -> Block:
    begins = np.array(begun)
    view = np.frombuffer(data, np.uint8)
    headers = np.zeros(len(begins), HEADER)
    new = view[begins + MAGIC_AT] == MAGIC
    for name, value in _NOTHING.items():
        headers[name][~new] = value
    headers["magic"] = view[begins + MAGIC_AT]
    offsets = np.lib.stride_tricks.sliding_window_view(view, 8)[begins[~new]]
    headers["base_offset"][~new] = offsets.copy().view(">i8")[:, 0]
    if new.any():
        windows = np.lib.stride_tricks.sliding_window_view(view, HEADER.itemsize)[begins[new]]
        headers[new] = windows.copy().view(HEADER)[:, 0]
    return Block(data=data, at=at, begins=begins, ends=np.append(begins[1:], end), headers=headers)


def _begins_a_batch(data: bytes) -> bool:
    if len(data) < PREFIX_BYTES:
        return True
    (length,) = _LENGTH.unpack_from(data, 8)
    if len(data) <= MAGIC_AT:
        return bool(length >= LEAST[MAGIC])
    magic = data[MAGIC_AT]
    return magic in LEAST and length >= LEAST[magic]


def _zeros_and_bytes(file: BinaryIO) -> tuple[bool, int]:
    zeros, size = True, 0
    while block := file.read(BLOCK_BYTES):
        zeros, size = zeros and not block.strip(b"\0"), size + len(block)
    return zeros, size
