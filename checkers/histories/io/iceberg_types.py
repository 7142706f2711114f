"""Maps Iceberg's primitive types to Arrow types. Floats have no entry, because their values are not
compared.

Source: the Iceberg table spec, "Primitive Types".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

TYPES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "uuid": pa.binary(16),
    "binary": pa.binary(),
}
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
_FIXED: Final = re.compile(r"fixed\[(\d{1,4})\]")


def arrow_type(name: object) -> pa.DataType | None:
    """Returns the Arrow type of an Iceberg type.

    Returns None for floats, for nested types, and for every other name.

    >>> arrow_type("decimal(9, 2)"), arrow_type("double")
    (Decimal128Type(decimal128(9, 2)), None)
    """
    if not isinstance(name, str):
        return None
    if found := _DECIMAL.fullmatch(name):
        precision, scale = map(int, found.groups())
        return pa.decimal128(precision, scale) if scale <= precision in range(1, 39) else None
    if found := _FIXED.fullmatch(name):
        return pa.binary(int(found[1]))
    return TYPES.get(name)
