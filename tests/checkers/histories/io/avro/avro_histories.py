"""Histories as Avro files that fastavro writes, and Avro files that are made from given bytes."""

from __future__ import annotations

import io
import json
from typing import Any

import cramjam
import fastavro
import pyarrow as pa

from checkers.histories.io.avro.containers import MAGIC
from tools.history_format import avro_schema

MARKER = b"sixteen bytes ok"


def in_avro(rows: pa.Table, codec: str = "null", schema: Any = None, size: int = 16_000) -> bytes:
    """Returns a container file with the rows; a block has about `size` bytes."""
    file = io.BytesIO()
    schema = schema or avro_schema()
    if codec != "zstandard":
        fastavro.writer(file, schema, rows.to_pylist(), codec, size, sync_marker=MARKER)
        return file.getvalue()
    for row in rows.to_pylist():  # fastavro needs another package for this codec
        fastavro.schemaless_writer(file, schema, row)
    data = bytes(cramjam.zstd.compress(file.getvalue()))
    return header(json.dumps(schema).encode(), b"zstandard") + block(data, rows.num_rows)


def header(schema: bytes, codec: bytes = b"null") -> bytes:
    file = io.BytesIO()
    metadata = {"avro.schema": schema, "avro.codec": codec}
    fastavro.schemaless_writer(file, {"type": "map", "values": "bytes"}, metadata)
    return MAGIC + file.getvalue() + MARKER


def block(data: bytes, count: int = 1, size: int | None = None, marker: bytes = MARKER) -> bytes:
    return long(count) + long(len(data) if size is None else size) + data + marker


def long(number: int) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, "long", number)
    return file.getvalue()
