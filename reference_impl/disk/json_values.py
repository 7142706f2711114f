"""Converts frozen dataclasses to JSON, and converts JSON to dataclasses by their type annotations.
For example:

    written(BrokerState(...))            {"broker_id": 1, "broker_epoch": 7, "fenced": false}
    read(BrokerState, {...})             the same value

A dataclass becomes an object. A tuple or frozenset becomes an array. An Enum becomes its value.
When JSON is read, a missing field gets its default, so metadata of an older version remains
readable.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID


def written(value: Any) -> Any:
    """Returns the value in the form of objects that the module `json` can write."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: written(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, frozenset):
        return sorted(written(item) for item in value)
    if isinstance(value, tuple | list):
        return [written(item) for item in value]
    if isinstance(value, Mapping):
        return [[written(key), written(item)] for key, item in value.items()]
    return str(value) if isinstance(value, UUID) else value


def read(of: Any, value: Any) -> Any:
    """The inverse of the function `written`: converts the JSON value `value` to a Python value of
    the type `of`, and returns it. Raises ValueError, TypeError or KeyError if `value` does not fit
    the type.
    """
    while hasattr(of, "__supertype__"):  # a NewType
        of = of.__supertype__
    origin, args = get_origin(of), get_args(of)
    if origin in {Union, types.UnionType}:
        (present,) = (one for one in args if one is not type(None))
        return None if value is None else read(present, value)
    if origin is tuple and args[-1] is Ellipsis:
        return tuple(read(args[0], item) for item in value)
    if origin is tuple:
        return tuple(read(arg, item) for arg, item in zip(args, value, strict=True))
    if origin is frozenset:
        return frozenset(read(args[0], item) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        return {read(args[0], key): read(args[1], item) for key, item in value}
    if isinstance(of, type) and is_dataclass(of):
        hints = _hints(of)
        return of(**{name: read(hints[name], item) for name, item in value.items()})
    if isinstance(of, type) and issubclass(of, tuple):
        return of(
            *(read(hint, item) for hint, item in zip(_hints(of).values(), value, strict=True))
        )
    return of(value)


@cache
def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of)
