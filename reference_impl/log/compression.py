"""The compression codecs of record batches.

Snappy data is either raw or framed by xerial's Java library; both are read, raw data is written.

Source: Kafka documentation, "Message Format"; CompressionType.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Literal, get_args

import cramjam

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
COMPRESSIONS: Final[tuple[Compression, ...]] = get_args(Compression)  # by their number

_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = len(_XERIAL) + 8  # magic, version, oldest compatible version
_XERIAL_CHUNK: Final = struct.Struct(">i")


def _unsnap(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return bytes(cramjam.snappy.decompress_raw(data))
    chunks: list[bytes] = []
    at = _XERIAL_HEADER
    while at < len(data):
        (length,) = _XERIAL_CHUNK.unpack_from(data, at)
        at += _XERIAL_CHUNK.size
        left = len(data) - at
        if not 0 <= length <= left:
            raise BadCompression(f"byte {at}: a xerial chunk of {length} bytes, {left} are left")
        chunks.append(bytes(cramjam.snappy.decompress_raw(data[at : at + length])))
        at += length
    return b"".join(chunks)


def _independent_blocks(data: bytes) -> bytes:
    """Returns the data compressed as an lz4 frame whose blocks do not refer to each other.

    Kafka rejects other lz4 frames. Source: Lz4BlockInputStream.readHeader.
    """
    packer = cramjam.lz4.Compressor(level=4, content_checksum=False, block_linked=False)
    packer.compress(data)
    return bytes(packer.finish())


_PACK: Final[dict[Compression, Callable[[bytes], bytes]]] = {
    "none": lambda data: data,
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "lz4": _independent_blocks,
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}
_UNPACK: Final[dict[Compression, Callable[[bytes], bytes]]] = {
    "none": lambda data: data,
    "gzip": lambda data: bytes(cramjam.gzip.decompress(data)),
    "snappy": _unsnap,
    "lz4": lambda data: bytes(cramjam.lz4.decompress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.decompress(data)),
}


class BadCompression(ValueError):
    """The error for bytes that are not data of the compression codec."""


def compress(compression: Compression, data: bytes) -> bytes:
    return _PACK[compression](data)


def decompress(compression: Compression, data: bytes) -> bytes:
    """Returns the decompressed data; raises BadCompression for invalid data."""
    try:
        return _UNPACK[compression](data)
    except (cramjam.DecompressionError, struct.error) as error:
        raise BadCompression(str(error)) from error
