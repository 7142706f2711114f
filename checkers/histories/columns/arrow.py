"""Arrow as kernels use it: tables of integers by their columns, and its compute functions.

These are made when the library loads, so no checker knows their types.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from checkers.histories.columns.fingerprints import Ints

compute: Final[Any] = pyarrow.compute


def ints(*names: str) -> pa.Schema:
    """A schema of these columns, all int64."""
    return pa.schema([(name, pa.int64()) for name in names])


def columns_of(schema: pa.Schema, *columns: Ints) -> pa.Table:
    """A table of the schema from its columns, in their order."""
    return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)
