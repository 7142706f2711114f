"""Writes requests from plain Python values, and reads responses as plain values, on a client's
side.

A plain message maps kio's field names to numbers, texts, bytes, lists and further mappings.
`encode` omits the fields that the version does not have, so one mapping serves all versions. A
missing field gets the default of the schema, or else null, zero or an empty list.

In a decoded response, an error code is a name, such as `NOT_LEADER_OR_FOLLOWER`, and a time span is
a number of milliseconds.

Source: Kafka documentation, "Protocol Guide".
"""

from __future__ import annotations

import io
import socket
import struct
import sys
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any, Final, get_args, get_type_hints
from uuid import UUID

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.kio_schemas import (
    EntityType,
    SerialError,
    api_key_map,
    entity_reader,
    entity_writer,
    load_payload_module,
    schema_name_map,
)

CLIENT_ID: Final = "urteil"
_LENGTH: Final = struct.Struct(">i")
_CORRELATION_ID: Final = struct.Struct(">i")
_ZERO: Final[Mapping[str, Any]] = {
    "string": "",
    "bool": False,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "bytes": b"",
}


class ConnectionClosed(ConnectionError):
    """Raised if the broker closed the connection before a whole frame arrived."""


class UnreadableResponse(ValueError):
    """Raised if a response does not follow the schema of its version."""


class UnreadableRequest(ValueError):
    """Raised if the version of a request has no schema, or the bytes do not follow the schema."""


# the errors of kio for bytes that do not follow the schema
UNREADABLE: Final = (SerialError, ValueError, LookupError, ArithmeticError, TypeError, struct.error)


def has_schema(api: Api, version: int) -> bool:
    return version in schema_name_map[api_key_map[api]]


def encode(api: Api, version: int, correlation_id: int, body: Mapping[str, Any]) -> bytes:
    """Returns the frame of a request, with its length prefix."""
    kind = _kind(api, version, EntityType.request)
    header = kind.__header_schema__
    values = {
        "request_api_key": int(api),
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": CLIENT_ID,
    }
    out = io.BytesIO()
    entity_writer(header)(out, _entity(header, values))
    entity_writer(kind)(out, _entity(kind, body))
    frame = out.getvalue()
    return _LENGTH.pack(len(frame)) + frame


def receive(stream: socket.socket) -> bytes:
    """Returns the next frame, without its length prefix. Raises ConnectionClosed if the
    connection ends earlier.
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            raise ConnectionClosed("the broker closed the connection without an answer")
        data += more
    return bytes(data)


def decode(api: Api, version: int, frame: bytes) -> dict[str, Any]:
    """Returns the plain values of a response. Raises UnreadableResponse if the frame does not
    follow the schema.
    """
    kind = _kind(api, version, EntityType.response)
    try:
        _, at = entity_reader(kind.__header_schema__)(frame, 0)
        if api == Api.API_VERSIONS:
            at = _CORRELATION_ID.size  # its header always has version 0
        entity, _ = entity_reader(kind)(frame, at)
    except UNREADABLE as error:
        raise UnreadableResponse(f"{api.name} version {version}: {error}") from error
    fields_of_entity: dict[str, Any] = _plain(entity)
    return fields_of_entity


def read_request(api_key: int, version: int, frame: bytes) -> Any:
    """Returns a request as a kio message. `frame` has no length prefix. Raises UnreadableRequest
    if the frame does not follow the schema.
    """
    if version not in schema_name_map.get(api_key_map.get(api_key, ""), ()):
        raise UnreadableRequest(f"there is no schema for API {api_key} version {version}")
    kind = _kind(api_key, version, EntityType.request)
    try:
        _, at = entity_reader(kind.__header_schema__)(frame, 0)
        return entity_reader(kind)(frame, at)[0]
    except UNREADABLE as error:
        raise UnreadableRequest(f"API {api_key} version {version}: {error}") from error


def field_names(api: Api, version: int) -> frozenset[str]:
    """Returns the names of all fields of the request, including nested fields."""
    return frozenset(_names(_kind(api, version, EntityType.request)))


def _names(kind: Any) -> set[str]:
    nested = [_nested(_hints(kind)[field.name]) for field in fields(kind)]
    below = [_names(one) for one in nested if one is not None]
    return {field.name for field in fields(kind)}.union(*below)


def _entity(kind: Any, values: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(
        **{
            field.name: _as_kio(field, _nested(hints[field.name]), values[field.name])
            if field.name in values
            else _default(field)
            for field in fields(kind)
            if field.name in values or _lacks_default(field)
        }
    )


def _as_kio(field: Field[Any], nested: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(value if nested is None else (_entity(nested, one) for one in value))
    if nested is not None and isinstance(value, Mapping):
        return _entity(nested, value)
    if str(field.metadata.get("kafka_type")).startswith("timedelta") and isinstance(value, int):
        return timedelta(milliseconds=value)
    return value


def _default(field: Field[Any]) -> Any:
    hint = str(field.type)
    if "None" in hint:
        return None
    return () if "tuple" in hint else _ZERO.get(field.metadata.get("kafka_type", ""), 0)


def _lacks_default(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, timedelta):
        return round(value / timedelta(milliseconds=1))
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, Enum):
        return value.name.upper()
    if isinstance(value, UUID | bytes | str | bool) or value is None:
        return value
    return int(value) if isinstance(value, int) else value


@cache
def _kind(api: int, version: int, entity_type: Any) -> Any:
    module = load_payload_module(api, version, entity_type)
    (found,) = (
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and getattr(kind, "__type__", None) is entity_type
        and kind.__module__ == module.__name__
    )
    return found


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, vars(sys.modules[kind.__module__]))


def _nested(hint: Any) -> Any:
    """Returns the first dataclass inside a field's type, or None if there is none."""
    if is_dataclass(hint):
        return hint
    return next((found for one in get_args(hint) if (found := _nested(one)) is not None), None)
