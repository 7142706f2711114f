"""Decompresses record batches of each of Kafka's five compression types.

The type Snappy has two formats. librdkafka writes raw data, and Java clients write the frames of
xerial's library.

Source: Kafka documentation, "Record Batch"; CompressionType.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import cramjam

KIND: Final = 0x07  # bits of a batch's attributes
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = len(_XERIAL) + 8  # after the magic: version, oldest compatible version
_CHUNK: Final = struct.Struct(">i")


class NotPacked(ValueError):
    """Raised if bytes are not compressed in the way that the attributes of their batch declare."""


def unpacked(attributes: int, data: bytes) -> bytes:
    """Returns the decompressed records of a batch. `attributes` is the field of the batch header
    that contains the compression type.

    Raises NotPacked if the data cannot be decompressed.
    """
    kind = attributes & KIND
    if kind == 0:
        return data
    if kind >= len(_UNPACK):
        raise NotPacked(f"compression type {kind} does not exist")
    try:
        return bytes(_UNPACK[kind](data))
    except (cramjam.DecompressionError, struct.error) as error:
        raise NotPacked(str(error)) from error


def _snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(data))
    chunks: list[bytes] = []
    at = _XERIAL_HEADER
    while at < len(data):
        (length,) = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size
        if not 0 <= length <= len(data) - at:
            raise NotPacked(f"a chunk claims {length} bytes, but {len(data) - at} are left")
        chunks.append(bytes(cramjam.snappy.decompress_raw(data[at : at + length])))
        at += length
    return b"".join(chunks)


_UNPACK: Final[tuple[Callable[[bytes], Any], ...]] = (  # by their number
    lambda data: data,
    lambda data: cramjam.gzip.decompress(data),
    _snappy,
    lambda data: cramjam.lz4.decompress(data),
    lambda data: cramjam.zstd.decompress(data),
)
