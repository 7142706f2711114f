"""The compression codecs of record batches.

Snappy data is either raw, or framed by xerial's Java library. The codec reads both forms, and
writes raw data.

A few bytes may decompress to gigabytes, so `decompress` stops at a limit.

Source: Kafka documentation, "Message Format"; CompressionType.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from typing import Final, Literal, get_args

import cramjam

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
COMPRESSIONS: Final[tuple[Compression, ...]] = get_args(Compression)  # by their number

# As many bytes as a request may have without compression: socket.request.max.bytes.
DECOMPRESSED_BYTES: Final = 100 * 1024 * 1024

_LZ4_LEVEL: Final = 4
_TRIED_RATIO: Final = 8
_TRIED_BYTES: Final = 16 * 1024
_FULL: Final = "failed to write whole buffer"  # cramjam's message if the output buffer is too small
_XERIAL: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = len(_XERIAL) + 8  # magic, version, oldest compatible version
_XERIAL_CHUNK: Final = struct.Struct(">i")


def _unsnap(data: bytes, most: int) -> bytes:
    if not data.startswith(_XERIAL):
        return _unsnap_raw(data, most)
    chunks: list[bytes] = []
    at = _XERIAL_HEADER
    while at < len(data):
        (length,) = _XERIAL_CHUNK.unpack_from(data, at)
        at += _XERIAL_CHUNK.size
        left = len(data) - at
        if not 0 <= length <= left:
            raise BadCompression(f"byte {at}: a xerial chunk of {length} bytes, {left} are left")
        chunks.append(_unsnap_raw(data[at : at + length], most))
        most -= len(chunks[-1])
        at += length
    return b"".join(chunks)


def _unsnap_raw(data: bytes, most: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > most:
        raise TooLarge(f"snappy data declares more than {most} bytes")
    return bytes(cramjam.snappy.decompress_raw(data))


def _limited(into: Callable[[bytes, bytearray | mmap.mmap], int]) -> Callable[[bytes, int], bytes]:
    def unpack(data: bytes, most: int) -> bytes:
        tried = min(most, len(data) * _TRIED_RATIO + _TRIED_BYTES)
        # This size is usually enough. Mapped memory costs nothing until it is written.
        small = bytearray(tried)
        try:
            return bytes(memoryview(small)[: into(data, small)])
        except cramjam.DecompressionError as error:
            if _FULL not in str(error) or tried == most:
                raise
        with mmap.mmap(-1, most) as large:
            return large[: into(data, large)]

    return unpack


def _gzip(data: bytes, level: int | None) -> bytes:
    usual = level is None or level < 0
    return bytes(cramjam.gzip.compress(data, None if usual else level))


def _independent_blocks(data: bytes, level: int | None) -> bytes:
    # Kafka rejects frames whose blocks refer to each other (Lz4BlockInputStream.readHeader).
    number = _LZ4_LEVEL if level is None else level
    packer = cramjam.lz4.Compressor(level=number, content_checksum=False, block_linked=False)
    packer.compress(data)
    return bytes(packer.finish())


_PACK: Final[dict[Compression, Callable[[bytes, int | None], bytes]]] = {
    "none": lambda data, _: data,
    "gzip": _gzip,
    "snappy": lambda data, _: bytes(cramjam.snappy.compress_raw(data)),
    "lz4": _independent_blocks,
    "zstd": lambda data, level: bytes(cramjam.zstd.compress(data, level)),
}
_UNPACK: Final[dict[Compression, Callable[[bytes, int], bytes]]] = {
    "none": lambda data, most: data,
    "gzip": _limited(cramjam.gzip.decompress_into),
    "snappy": _unsnap,
    "lz4": _limited(cramjam.lz4.decompress_into),
    "zstd": _limited(cramjam.zstd.decompress_into),
}


class BadCompression(ValueError):
    """Raised if the bytes are not data of the compression codec."""


class TooLarge(BadCompression):
    """Raised if the data decompress to more bytes than the limit."""


def compress(compression: Compression, data: bytes, level: int | None = None) -> bytes:
    """Returns the compressed data. `level` is the compression level. If `level` is None, the codec
    uses its default level.
    """
    return _PACK[compression](data, level)


def decompress(compression: Compression, data: bytes, most: int = DECOMPRESSED_BYTES) -> bytes:
    """Returns the decompressed data. Raises TooLarge if the data decompress to more than `most`
    bytes. Raises BadCompression if the data are invalid.
    """
    try:
        return _UNPACK[compression](data, most)
    except (cramjam.DecompressionError, struct.error) as error:
        if _FULL in str(error):
            raise TooLarge(f"the data decompresses to more than {most} bytes") from error
        raise BadCompression(str(error)) from error
