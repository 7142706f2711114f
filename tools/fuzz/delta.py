"""Feeds the bytes of a fuzzer to the reader of Delta logs.

The log has two commits, and a checkpoint of the first commit. The first byte of an input selects
one of these three files. The remaining bytes replace the content of the selected file.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.io import delta
from model.faults import InputFault

ACTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []}},
    {"metaData": {"id": "t", "configuration": {"a": "b"}, "partitionColumns": ["day"]}},
    {"add": {"path": "day=1/a.parquet", "size": 1, "dataChange": True}},
    {"add": {"path": "day=2/b%20c.parquet", "deletionVector": None}},
)
LATER: Final[tuple[dict[str, Any], ...]] = (
    {"remove": {"path": "day=1/a.parquet", "dataChange": True}},
    {"add": {"path": "s3://bucket/c.parquet"}},
    {"commitInfo": {"operation": "WRITE"}},
)
STRINGS: Final = pa.list_(pa.string())
CHECKPOINT: Final = pa.schema(
    {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "readerFeatures": STRINGS}),
        "metaData": pa.struct(
            {"configuration": pa.map_(pa.string(), pa.string()), "partitionColumns": STRINGS}
        ),
        "add": pa.struct(
            {"path": pa.string(), "deletionVector": pa.struct({"storageType": pa.string()})}
        ),
    }
)
_FOLDER: Final = tempfile.TemporaryDirectory(prefix="urteil-fuzz-")
TABLE: Final = Path(_FOLDER.name)


def run(data: bytes) -> None:
    """Reads the log of a Delta table, in which `data` replaces the content of one file. The first
    byte of `data` selects the file. Any exception but InputFault is a defect of the
    reader.
    """
    if not data:
        return
    number = data[0] % 3
    # a version before a checkpoint is read without it, and a later version with it
    log = {f"{0:020}.json": commit(ACTIONS), f"{1:020}.json": commit(LATER)}
    if number == 2:
        log = {f"{0:020}.checkpoint.parquet": b"", f"{1:020}.json": commit(LATER)}
    log[[*log][number % 2]] = data[1:]
    folder = TABLE / delta.LOG
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, content in log.items():
        (folder / name).write_bytes(content)
    with contextlib.suppress(InputFault):
        delta.files_of(TABLE)


def commit(actions: tuple[dict[str, Any], ...]) -> bytes:
    return b"\n".join(json.dumps(action).encode() for action in actions)


def valid_inputs() -> Iterator[bytes]:
    """Yields, for each file of the log, an input with the unchanged content of the file."""
    yield b"\0" + commit(ACTIONS)
    yield b"\1" + commit(LATER)
    checkpoint = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([*ACTIONS], CHECKPOINT), checkpoint)
    yield b"\2" + checkpoint.getvalue().to_pybytes()
