"""Feeds the bytes of a fuzzer to the reader of Iceberg tables.

The first byte of an input selects a file of a small table with deleted rows: its metadata, manifest
list, a manifest or a delete file. The remaining bytes replace the content of the selected file. The
folder of the table has another name in each run. So that an input means the same in each run, it
contains a fixed text in place of the folder's name; both have the same length.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from checkers.histories.io import iceberg
from model.faults import InputFault
from tests.checkers.histories.io import described_tables as described

TABLE: Final[described.Table] = (
    described.File(0, 1, 1, "a", (1, 2, 3, 4), ((0, "a", 1, "x"), (1, "a", None, None))),
    described.File(0, 3, 0, None, (1, 2, 3, 5), ((10, "b", 1, "y"), (11, "b", 0, None))),
    described.File(1, 3, 0, None, (), ((1, 1),)),
    described.File(2, 2, 1, "a", (3, 4), ((None, None),)),
    described.File(2, 4, 0, None, (2, 5), (("b", "y"),)),
)
_FOLDER: Final = tempfile.TemporaryDirectory(prefix="urteil-fuzz-")
_NAME: Final = _FOLDER.name.encode()
_ANY_NAME: Final = b"_" * len(_NAME)


def run(data: bytes) -> None:
    """Replaces one file of the sample table by `data`, and reads the table. Any exception but
    InputFault is a defect of the reader.
    """
    if not data:
        return
    some = files()
    file = some[data[0] % len(some)]
    valid = file.read_bytes()
    file.write_bytes(data[1:].replace(_ANY_NAME, _NAME))
    try:
        with contextlib.suppress(InputFault):
            operations()
    finally:
        file.write_bytes(valid)


@cache
def files() -> list[Path]:
    """Returns the files of the table. The first one is the metadata file. The first call writes the
    files.
    """
    metadata = described.written(TABLE, Path(_FOLDER.name) / "table")
    deletes = [metadata.parents[1] / f"{number}.parquet" for number in (2, 3, 4)]
    return [metadata, *sorted(metadata.parent.glob("*.avro")), *deletes]


def operations() -> list[int]:
    """Returns the operation number of each row in the table."""
    found = iceberg.files_of(files()[0])
    assert found.reader is not None
    parts = (part for file in found.files for part in found.reader(file))
    return [op for part in parts if "op" in part.column_names for op in part["op"].to_pylist()]


def valid_inputs() -> Iterator[bytes]:
    """Yields, for each file of the table, an input with the unchanged content of the file."""
    for number, file in enumerate(files()):
        yield bytes([number]) + file.read_bytes().replace(_NAME, _ANY_NAME)
