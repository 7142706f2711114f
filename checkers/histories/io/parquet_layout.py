"""How rows of a history lie in a Parquet file: packed so that they are cheap to read again.

Numbers are kept as differences and words as numbers of a dictionary, since a history is in order of
time and says few words. A row group holds whole operations and is short, so that who wants to see
some operations unpacks little else; what is read is read whole, and so nothing is packed tighter
than LZ4 can.

Source: the Parquet format's encodings; measured by `benchmarks/analyze`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP: Final = 1 << 17  # about: one operation is never cut
FEW_TEXTS: Final = (
    "f",
    "outcome",
    "kind",
    "key",
    "error",
    "transactional_id",
    "group",
    "isolation",
)
_NUMBERS: Final = (
    "op",
    "process",
    "invoked_ns",
    "completed_ns",
    "position",
    "offset",
    "end_asked_ns",
)
_PACKED: Final[dict[str, Any]] = {
    "compression": "lz4",
    "use_dictionary": list(FEW_TEXTS),
    "column_encoding": {**dict.fromkeys(_NUMBERS, "DELTA_BINARY_PACKED"), "value": "PLAIN"},
    "store_schema": False,  # else a reader would find dictionaries where a history has texts
}


def write_part(table: pa.Table, path: Path) -> None:
    """Writes the rows, whose operations lie together; texts may be dictionaries here."""
    with part_writer(path, table.schema) as file:
        for group in _groups(table):
            file.write_table(group)


def part_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A file for rows of a history, which get into one row group as they are written."""
    return pq.ParquetWriter(path, schema, **_PACKED)


def _groups(table: pa.Table) -> Iterator[pa.Table]:
    changes = np.flatnonzero(np.diff(table["op"].to_numpy())) + 1
    ends = np.r_[changes, table.num_rows]
    first = 0
    while first < table.num_rows:
        at = np.searchsorted(ends, first + ROWS_PER_GROUP, side="right") - 1
        end = int(ends[max(at, np.searchsorted(ends, first, side="right"))])
        yield table.slice(first, end - first)
        first = end
