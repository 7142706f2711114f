"""Arrow as kernels use it: tables of integers by their columns, and its compute functions.

These are made when the library loads, so no checker knows their types.

PyArrow imports pandas, where there is one, as soon as it makes an array: a third of a second for
who never uses it. If it finds none then, it looks again when it is asked for what needs it.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from checkers.histories.columnar.fingerprints import Ints

compute: Final[Any] = pyarrow.compute
_INT64: Final = pa.int64()


class _NoPandas(MetaPathFinder):
    """Finds no pandas, and leaves every other module to the finders behind it."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _leave_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas())
    pa.array([])
    sys.meta_path.pop(0)


_leave_pandas()


def int64_schema(*names: str) -> pa.Schema:
    """A schema of these columns, all int64."""
    return pa.schema([(name, pa.int64()) for name in names])


def table_from(schema: pa.Schema, *columns: Ints) -> pa.Table:
    """A table of the schema from its columns, in their order."""
    return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)


def as_ints(column: pa.ChunkedArray, null: int = 0) -> Ints:
    """The column as int64 numbers; `null` stands for null."""
    if column.null_count:
        column = column.cast(_INT64).fill_null(null)
    numbers: Ints = column.to_numpy().astype(np.int64, copy=False)
    return numbers
