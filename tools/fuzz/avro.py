"""Feeds the bytes of a fuzzer to the reader of operations in Avro.

The first byte of an input selects one of two formats of the bytes after it:

- a container file;
- the length of a schema in two bytes, the schema, and a record of a Kafka topic.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa

from checkers.demo import __file__ as demo
from checkers.histories.io.avro import rows
from checkers.histories.io.avro.containers import only
from checkers.histories.io.avro.schemas import AvroFault, parsed
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from tests.checkers.histories.io.avro.avro_histories import MARKER
from tools.history_format import avro_schema

FILE, RECORD = 0, 1
OPERATIONS: Final = 8  # of a valid input
_FOLDER: Final = tempfile.TemporaryDirectory(prefix="urteil-fuzz-")


def run(data: bytes) -> None:
    """Reads the operations in the bytes. Any exception but UnreadableHistory is a defect of the
    reader.
    """
    if data:
        with contextlib.suppress(UnreadableHistory):
            operations(data)


def operations(data: bytes) -> pa.Table:
    """Returns the operations of a file or of a record. Raises UnreadableHistory if they cannot be
    read.
    """
    if data[0] % 2 == FILE:
        path = Path(_FOLDER.name) / "history.avro"
        path.write_bytes(data[1:])
        return whole(path)
    end = 3 + int.from_bytes(data[1:3])
    try:
        schema = parsed(data[3:end])
        return rows.table([only(data[end:], schema)], rows.fields(schema))
    except AvroFault as fault:
        raise UnreadableHistory(f"record{fault}") from fault


def valid_inputs() -> Iterator[bytes]:
    """Yields three Avro files, one for each codec, with the first operations of the demo history.
    Finally, yields the first operation as a single Avro record, without a file around it.
    """
    table = whole(Path(demo).with_name("three-anomalies.edn"))
    some: list[dict[str, Any]] = table.slice(0, OPERATIONS).to_pylist()
    schema = json.dumps(avro_schema()).encode()
    for codec in ("null", "deflate", "bzip2"):
        file = io.BytesIO()
        fastavro.writer(file, avro_schema(), some, codec, sync_marker=MARKER)
        yield bytes([FILE]) + file.getvalue()
    record = io.BytesIO()
    fastavro.schemaless_writer(record, avro_schema(), some[0])
    yield bytes([RECORD]) + len(schema).to_bytes(2) + schema + record.getvalue()
