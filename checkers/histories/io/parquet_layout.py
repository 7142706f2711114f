"""Writes rows of a history as Parquet, with encodings that are cheap to read.

Integers are delta-encoded, because a history is ordered by time. A row group is short, and has
complete operations. The compression is LZ4, because it is fast, and because a history is usually
read completely.

Source: the Parquet format's encodings; `benchmarks.analyze`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP: Final = 1 << 17  # approximately, since an operation is never split
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
    "store_schema": False,  # else readers would see dictionary types where a history has strings
}


def write_part(table: pa.Table, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Writes the table as one Parquet file; the rows of each operation must be adjacent."""
    with part_writer(path, table.schema) as file:
        file.add_key_value_metadata(metadata or {})
        for group in _groups(table):
            file.write_table(group)


def part_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Returns a writer of a Parquet file. Each table that is passed to the writer becomes one
    row group.
    """
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
