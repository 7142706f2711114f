"""The types of kio's message fields: arrays, nullable fields, fixed sizes."""

from __future__ import annotations

import struct
from types import NoneType
from typing import Any, Final, get_args, get_origin

# The types of fixed size, by kio's name of the type: the format of `struct`.
FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "uint32": "I",
    "timedelta_i32": "i",
    "int64": "q",
    "uint64": "Q",
    "float64": "d",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}
SIZES: Final = {name: struct.calcsize(f">{of}") for name, of in FORMATS.items()}


def shape(kind: Any) -> tuple[Any, bool, bool]:
    """Returns three results: the type of a field or, for an array, of its elements; whether the
    field is an array; and whether the field may be null.

    >>> shape(tuple[int, ...] | None)
    (<class 'int'>, True, True)
    """
    is_nullable = NoneType in get_args(kind)
    if is_nullable:
        (kind,) = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is tuple:
        return get_args(kind)[0], True, is_nullable
    return kind, False, is_nullable
