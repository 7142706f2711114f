"""Reduces the writer's schema of Avro data to a tree of plain types, and defines `AvroFault`.

With a hostile schema, a few bytes can decode to more items than fit into memory, or to a value that
is nested too deep for the decoder. So a schema is refused if it has one of these types:

- a type that refers to another type by its name, because the reference may be recursive;
- an array whose items are encoded in 0 bytes, such as an array of nulls;
- types that are nested more than MAX_DEPTH deep.

Source: the Apache Avro specification, "Schema Declaration" and "Binary Encoding".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from fastavro import parse_schema
from fastavro.schema import SchemaParseException

from checkers.histories.io.unreadable import SHOWN, shown

MAX_DEPTH: Final = 50
PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
COPY: Final = "copy or record it again"
_WRITE: Final = "write the history with another schema"


class AvroFault(ValueError):
    """Raised for Avro data that cannot be read. The message has the fault, the fix and, if known,
    the row number.

    The caller puts the name of the file before the message.
    """

    def __init__(self, what: str, move: str = COPY, row: int | None = None) -> None:
        where = "" if row is None else f", row {row}"
        super().__init__(f"{where}: {what}; {move}")
        self.what = what


def parsed(text: str | bytes) -> Any:
    """Returns the schema in the form that fastavro needs. Raises AvroFault if the schema is
    malformed or refused.

    >>> parsed('{"type": "string", "avro.java.string": "String"}')
    'string'
    """
    try:
        written = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AvroFault(f"its Avro schema is no JSON ({str(error)[:SHOWN]})") from error
    try:
        return parse_schema(_plain(written, count(), 0))
    except SchemaParseException as error:
        raise AvroFault(f"not an Avro schema: {str(error)[:SHOWN]}", _WRITE) from error


def takes_no_bytes(schema: Any) -> bool:
    """Returns True if every value of the schema is encoded in 0 bytes.

    >>> takes_no_bytes("null"), takes_no_bytes(["null", "long"])
    (True, False)
    """
    match schema:
        case "null" | {"type": "fixed", "size": 0}:
            return True
        case {"type": "record", "fields": [*fields]}:
            return all(takes_no_bytes(field["type"]) for field in fields)
        case _:
            return False


def _plain(schema: object, numbers: count[int], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise AvroFault(f"its Avro schema is nested more than {MAX_DEPTH} deep", _WRITE)

    def inner(part: object) -> Any:
        return _plain(part, numbers, depth + 1)

    match schema:
        case str(name):
            return _primitive(name)
        case [_, *_]:
            return [inner(branch) for branch in schema]
        case {"type": "record" | "enum" | "fixed"}:
            return {"name": f"type{next(numbers)}", **_named(schema, inner)}
        case {"type": "array", "items": items}:
            plain = inner(items)
            if takes_no_bytes(plain):
                raise AvroFault("its Avro schema has an array whose items take no bytes", _WRITE)
            return {"type": "array", "items": plain}
        case {"type": "map", "values": values}:
            return {"type": "map", "values": inner(values)}
        case {"type": wrapped}:
            return inner(wrapped)
        case _:
            raise AvroFault(f"not an Avro schema: {shown(schema)}", _WRITE)


def _primitive(name: str) -> str:
    if name not in PRIMITIVES:
        raise AvroFault(
            f"its Avro schema refers to the type {shown(name)}, and Urteil reads no references",
            "write each type where it is used",
        )
    return name


def _named(schema: object, inner: Callable[[object], Any]) -> dict[str, Any]:
    match schema:
        case {"type": "record", "fields": [*fields]}:
            return {"type": "record", "fields": [_field(field, inner) for field in fields]}
        case {"type": "enum", "symbols": [*symbols]} if all(isinstance(it, str) for it in symbols):
            return {"type": "enum", "symbols": symbols}
        case {"type": "fixed", "size": int(size)} if type(size) is int and size >= 0:
            return {"type": "fixed", "size": size}
        case _:
            raise AvroFault(f"not an Avro schema: {shown(schema)}", _WRITE)


def _field(field: object, inner: Callable[[object], Any]) -> dict[str, Any]:
    match field:
        case {"name": str(name), "type": of_field}:
            return {"name": name, "type": inner(of_field)}
        case _:
            raise AvroFault(f"not a field of an Avro record: {shown(field)}", _WRITE)
