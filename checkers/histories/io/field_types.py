"""Checks the types of fields in JSON and Avro.

A boolean in a field of numbers is an error. Without this check, Python would read True as 1.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

PYTHON_TYPES: Final[Mapping[str, type[int] | type[str]]] = {
    "int64": int,
    "int32": int,
    "string": str,
}


def booleans(found: object, names: Container[str], path: str = "") -> Iterator[str]:
    """Yields a text for each field in `names` that has a boolean: the path of the field, and its
    value.

    >>> [*booleans({"schemas": [{"id": 1}, {"id": True}], "last": False}, {"id"})]
    ['schemas[1].id is True']
    """
    if isinstance(found, dict):
        for name, value in found.items():
            inner = f"{path}.{name}" if path else str(name)
            if name in names and isinstance(value, bool):
                yield f"{inner} is {value}"
            yield from booleans(value, names, inner)
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from booleans(value, names, f"{path}[{number}]")


def check_types(found: object, kinds: Mapping[str, str]) -> None:
    """Raises ValueError if a field has another type than its Arrow type in `kinds`.

    A field may be missing or null.

    >>> check_types({"at_ns": True}, {"at_ns": "int64"})
    Traceback (most recent call last):
    ValueError: field at_ns is True, not of type int64
    """
    if not isinstance(found, dict):
        raise ValueError(f"{found!r:.200} is no JSON object")
    for name, kind in kinds.items():
        value: Any = found.get(name)
        if value is None:
            continue
        if type(value) is not PYTHON_TYPES[kind]:
            raise ValueError(f"field {name} is {value!r:.200}, not of type {kind}")
        if isinstance(value, str):
            value.encode()  # a ValueError for half of a surrogate pair
        elif not -(2**63) <= value < 2**63:
            raise ValueError(f"field {name} is {value!r:.200}, more than 64 bits")
