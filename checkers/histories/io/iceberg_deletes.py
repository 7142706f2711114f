"""Finds the rows that the position delete files of an Iceberg snapshot delete.

A position delete has the path of a data file and the position of a row in this file, from 0. The
position delete deletes the row only if two conditions hold:

- The delete file and the data file are in the same partition.
- The sequence number of the data file is not higher than the sequence number of the delete file.

A position delete of a data file that no longer belongs to the table has no effect.

Source: the Iceberg table spec, "Position Delete Files" and "Scan Planning".
Simplified: delete files are read completely, and their positions are held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.io.iceberg_manifests import Content, TableFile
from checkers.histories.io.locations import Place
from checkers.histories.io.parquet_files import opened, reading_parquet, tables_of
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.io.unreadable_tables import COPY

_COLUMNS: Final = pa.schema([("file_path", pa.string()), ("pos", pa.int64())])


def deleted_rows(files: Sequence[TableFile], place: Callable[[str], Place]) -> dict[Place, Ints]:
    """Returns, for each data file with deleted rows, the ascending positions of these rows.

    `place` maps a path in the table's metadata to the location of the file that is read. Raises
    UnreadableHistory if a delete file is damaged.
    """
    rows = {file.path: file for file in files if file.content is Content.ROWS}
    found: dict[str, list[Ints]] = {}
    for file in files:
        if file.content is Content.POSITION_DELETES:
            for path, positions in _positions(place(file.path)):
                if path in rows and _applies(file, rows[path]):
                    found.setdefault(path, []).append(positions)
    return {place(path): np.unique(np.concatenate(some)) for path, some in found.items()}


def _applies(deletes: TableFile, rows: TableFile) -> bool:
    return rows.sequence <= deletes.sequence and rows.partition == deletes.partition


def _positions(file: Place) -> Iterator[tuple[str, Ints]]:
    with reading_parquet(file), opened(file) as content:
        missing = {*_COLUMNS.names} - {*content.schema_arrow.names}
        if missing:
            raise UnreadableHistory(f"{file}: no column {min(missing)} of position deletes; {COPY}")
        for some in tables_of(content, _COLUMNS.names):
            rows = some.select(_COLUMNS.names).cast(_COLUMNS)
            if any(column.null_count for column in rows.columns):
                raise UnreadableHistory(f"{file}: a position delete has a null; {COPY}")
            by_path = rows.group_by("file_path", use_threads=False).aggregate([("pos", "list")])
            for path, some in zip(by_path["file_path"], by_path["pos_list"], strict=True):
                yield path.as_py(), some.values.to_numpy()
