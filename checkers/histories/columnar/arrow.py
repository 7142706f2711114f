"""Gives access to Arrow's compute functions, and makes tables of integer columns.

Arrow creates its compute functions during its import, so type checkers cannot see them. For this
reason, `compute` has the type `Any`. The first array that PyArrow creates would import pandas,
which takes a third of a second. So this module hides pandas from PyArrow at that moment. If a later
function needs pandas, PyArrow tries the import a second time.
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
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _create_array_without_pandas() -> None:
    sys.meta_path.insert(0, _NoPandas())
    pa.array([])
    sys.meta_path.pop(0)


_create_array_without_pandas()


def int64_schema(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int64()) for name in names])


def table_from(schema: pa.Schema, *columns: Ints) -> pa.Table:
    return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)


def as_ints(column: pa.ChunkedArray, null: int = 0) -> Ints:
    """Returns the column as int64. A null becomes the value of the parameter `null`."""
    if column.null_count:
        column = column.cast(_INT64).fill_null(null)
    numbers: Ints = column.to_numpy().astype(np.int64, copy=False)
    return numbers
