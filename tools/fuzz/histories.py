"""Feeds the bytes of a fuzzer to the readers of histories, and analyzes each history that is read.

The first byte of an input selects the format. The remaining bytes are the content of the file.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import fastavro
import pyarrow as pa

from checkers.demo import __file__ as demo
from checkers.histories.analysis import analyze
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from tools.history_format import avro_schema

ENDINGS: Final = (".edn", ".ndjson", ".parquet", ".avro")
OPERATIONS: Final = 8  # of a valid input
ANALYZED: Final = 64  # rows: a larger history is only read
_FOLDER: Final = tempfile.TemporaryDirectory(prefix="urteil-fuzz-")


def run(data: bytes) -> None:
    """Reads the bytes as a file, and analyzes a history of at most 64 rows in this process.

    Any exception but UnreadableHistory is a defect of the reader or of the analysis.
    """
    if not data:
        return
    path = Path(_FOLDER.name) / f"history{ENDINGS[data[0] % len(ENDINGS)]}"
    path.write_bytes(data[1:])
    with contextlib.suppress(UnreadableHistory):
        if whole(path).num_rows <= ANALYZED:
            analyze(path)


def valid_inputs() -> Iterator[bytes]:
    """Yields the first operations of the history of `urteil analyze --demo`, in each format."""
    history = Path(demo).with_name("three-anomalies.edn")
    lines = history.read_bytes().splitlines(keepends=True)[:OPERATIONS]
    rows: pa.Table = whole(history).slice(0, OPERATIONS)
    present = ({k: v for k, v in row.items() if v is not None} for row in rows.to_pylist())
    parquet = Path(_FOLDER.name) / "valid.parquet"
    write_part(rows, parquet)
    yield b"\0" + b"".join(lines)
    yield b"\1" + b"".join(json.dumps(row).encode() + b"\n" for row in present)
    yield b"\2" + parquet.read_bytes()
    avro = io.BytesIO()
    fastavro.writer(avro, avro_schema(), rows.to_pylist())
    yield b"\3" + avro.getvalue()
