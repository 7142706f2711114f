"""Object container files of Avro: a header with the writer's schema, then blocks of records.

A file has one header and any number of blocks. Each line lists the fields in their order:

    header    Obj 1, a map with avro.schema and avro.codec, and a marker of 16 bytes
    block     number of records, number of bytes, the records, and the same marker

This reader holds a whole block in memory. So the size of a block is limited, both before and after
decompression.

Source: the Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final

from fastavro import schemaless_reader

from checkers.histories.io.avro.schemas import AvroFault, parsed, takes_no_bytes
from checkers.histories.io.unreadable import SHOWN, shown
from reference_impl.log.compression import BadCompression, decompress

MAGIC: Final = b"Obj\x01"
MAX_HEADER: Final = 16 << 20  # bytes
MAX_BLOCK: Final = 64 << 20  # bytes
_MARKER_BYTES: Final = 16
# what fastavro raises for bytes that are no record of the schema
NO_RECORD: Final = (EOFError, ValueError, IndexError, TypeError, OverflowError, MemoryError)


class Container:
    """The writer's schema and the records of an Avro container file.

    `bytes_read` is the number of bytes in the blocks that were read, after decompression.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Reads the header. Raises AvroFault if the header is malformed, or if its schema or
        codec is not supported.
        """
        if file.read(len(MAGIC)) != MAGIC:
            raise AvroFault("this is no Avro container file: it does not begin with Obj")
        header = io.BytesIO(file.read(MAX_HEADER))
        try:
            metadata: Any = schemaless_reader(header, _METADATA)
        except NO_RECORD as error:
            raise AvroFault("the header is damaged, or has more than 16 MiB") from error
        self._marker = header.read(_MARKER_BYTES)
        file.seek(len(MAGIC) + header.tell())
        self._file = file
        self.bytes_read = 0
        codec = metadata.get("avro.codec", b"null")
        if codec not in CODECS:
            raise AvroFault(
                f"the codec is {shown(codec.decode(errors='replace'))}",
                f"write it with one of {', '.join(it.decode() for it in CODECS)}",
            )
        self._decompress = CODECS[codec]
        self.schema = parsed(metadata.get("avro.schema", b""))
        if takes_no_bytes(self.schema):
            raise AvroFault("its records take no bytes", "write a schema with a column")

    def records(self) -> Iterator[Any]:
        """Yields the records in their order. Raises AvroFault if a block is malformed; if
        possible, the error has the number of the record.
        """
        row = 0
        for count, data in self._blocks():
            block = io.BytesIO(data)
            self.bytes_read += len(data)
            for _ in range(count):
                row += 1
                yield decoded(block, self.schema, row)
            if block.tell() != len(data):
                raise AvroFault("the block has more bytes than its rows", row=row)

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        while beginning := self._file.read(_LONGEST_BLOCK_HEAD):
            number += 1
            head = io.BytesIO(beginning)
            try:
                count: Any = schemaless_reader(head, _LONG)
                size: Any = schemaless_reader(head, _LONG)
            except NO_RECORD as error:
                raise AvroFault(f"block {number} is cut short") from error
            if size > MAX_BLOCK:
                raise AvroFault(f"block {number} declares {size:,} bytes, and 64 MiB are allowed")
            if count < 0 or size < 0:
                raise AvroFault(f"block {number} declares {count} rows of {size} bytes")
            self._file.seek(head.tell() - len(beginning), io.SEEK_CUR)
            data, marker = self._file.read(size), self._file.read(_MARKER_BYTES)
            if len(marker) < _MARKER_BYTES:
                raise AvroFault(f"block {number} is cut short")
            if marker != self._marker:
                raise AvroFault(f"block {number} does not end with the marker of the file")
            try:
                yield count, self._decompress(data)
            except _NO_BLOCK as error:
                text = str(error)[:SHOWN]
                raise AvroFault(f"block {number} cannot be decompressed ({text})") from error


def decoded(data: IO[bytes], schema: Any, row: int | None = None) -> Any:
    """Returns the next value in the data. Raises AvroFault with the row number `row` if the bytes
    do not match the schema.
    """
    try:
        return schemaless_reader(data, schema)
    except NO_RECORD as error:
        reason = str(error)[:SHOWN] or type(error).__name__
        raise AvroFault(f"the bytes are no record of the schema ({reason})", row=row) from error


def only(data: bytes, schema: Any) -> Any:
    """Returns the value that the bytes encode. Raises AvroFault if the bytes are not the
    encoding of exactly one value.
    """
    stream = io.BytesIO(data)
    value = decoded(stream, schema)
    if stream.tell() != len(data):
        raise AvroFault(f"{len(data) - stream.tell()} bytes follow the record of the schema")
    return value


def _stream(open_stream: Callable[[], Any]) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        stream = open_stream()
        found: bytes = stream.decompress(data, MAX_BLOCK + 1)
        if len(found) > MAX_BLOCK:
            raise ValueError("more than 64 MiB after decompression")
        if not stream.eof:
            raise EOFError("the compressed data is cut short")
        return found

    return unpack


def _snappy(data: bytes) -> bytes:
    found = decompress("snappy", data[:-4], MAX_BLOCK)
    if zlib.crc32(found) != int.from_bytes(data[-4:], "big"):
        raise ValueError("the checksum differs")
    return found


_LONG: Final = parsed('"long"')
_LONGEST_BLOCK_HEAD: Final = 20  # two longs of at most ten bytes
_METADATA: Final = parsed('{"type": "map", "values": "bytes"}')
_NO_BLOCK: Final = (BadCompression, EOFError, ValueError, OSError, zlib.error, lzma.LZMAError)
CODECS: Final[Mapping[bytes, Callable[[bytes], bytes]]] = {
    b"null": lambda data: data,
    b"deflate": _stream(lambda: zlib.decompressobj(-zlib.MAX_WBITS)),
    b"snappy": _snappy,
    b"zstandard": lambda data: decompress("zstd", data, MAX_BLOCK),
    b"bzip2": _stream(bz2.BZ2Decompressor),
    b"xz": _stream(lambda: lzma.LZMADecompressor(memlimit=2 * MAX_BLOCK)),
}
