"""Single requests to one broker, for what the clients' libraries have no call.

    call(("127.0.0.1", 9092), Api.ELECT_LEADERS, 2, {"election_type": 0, ...})

A body is a dict with the field names of kio, Kafka's message schemas in Python. Missing fields get
a null, empty or zero value. The answer is a dict too, with error codes as their names.
"""

from __future__ import annotations

import enum
import io
import socket
import sys
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, Literal

from kio.index import load_payload_module
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from checkers.systems.proxies.apis import Api
from checkers.systems.proxies.frames import LENGTH, framed

Address = tuple[str, int]
Payload = Literal[EntityType.request, EntityType.response]
ANSWERS_WITHIN_S: Final = 10.0
CLIENT_ID: Final = "urteil"


class NoAnswer(ConnectionError):
    """Raised if the broker closes the connection without an answer."""


def call(
    to: Address,
    api: Api,
    version: int,
    body: Mapping[str, Any],
    *,
    within_s: float = ANSWERS_WITHIN_S,
) -> dict[str, Any]:
    """Sends one request and returns its answer; raises OSError if the broker does not answer."""
    with socket.create_connection(to, within_s) as stream:
        stream.sendall(framed(request(api, version, body)))
        frame = _received(stream)
    return answer(api, version, frame)


def request(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """Returns the frame of a request, without its length."""
    kind = _schema(api, version, EntityType.request)
    header = kind.__header_schema__
    values = {
        "request_api_key": int(api),
        "request_api_version": version,
        "correlation_id": 1,
        "client_id": CLIENT_ID,
    }
    known = {field.name for field in fields(header)}
    out = io.BytesIO()
    entity_writer(header)(out, header(**{k: v for k, v in values.items() if k in known}))
    entity_writer(kind)(out, _built(kind, body))
    return out.getvalue()


def answer(api: Api, version: int, frame: bytes) -> dict[str, Any]:
    """Returns the body of a response frame, without its length."""
    kind = _schema(api, version, EntityType.response)
    _, at = entity_reader(kind.__header_schema__)(frame, 0)
    body, _ = entity_reader(kind)(frame, at)
    plain: dict[str, Any] = _plain(body)
    return plain


def _received(stream: socket.socket) -> bytes:
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        got = stream.recv(size - len(data))
        if not got:
            raise NoAnswer("the broker closed the connection without an answer")
        data += got
    return data


@cache
def _schema(api: Api, version: int, kind: Payload) -> Any:
    module = load_payload_module(int(api), version, kind)
    (found,) = [
        value
        for value in vars(module).values()
        if getattr(value, "__type__", None) is kind and value.__module__ == module.__name__
    ]
    return found


@cache
def _types(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind, vars(sys.modules[kind.__module__]))


def _built(kind: Any, values: Mapping[str, Any]) -> Any:
    unknown = values.keys() - {field.name for field in fields(kind)}
    assert not unknown, f"{kind.__name__} has no field {sorted(unknown)}"
    made: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in values:
            made[field.name] = _value(_entity(_types(kind)[field.name]), field, values[field.name])
        elif field.default is MISSING:
            made[field.name] = _absent(str(field.type))
    return kind(**made)


def _entity(annotation: Any) -> Any:
    """Returns the entity class inside an annotation such as `tuple[Entity, ...] | None`."""
    if is_dataclass(annotation):
        return annotation
    return next((found for a in typing.get_args(annotation) if (found := _entity(a))), None)


def _value(entity: Any, field: Any, value: Any) -> Any:
    if field.metadata.get("kafka_type") == "timedelta_i32":
        return timedelta(milliseconds=value)
    if isinstance(value, (list, tuple)):
        return tuple(_built(entity, one) if isinstance(one, Mapping) else one for one in value)
    return _built(entity, value) if isinstance(value, Mapping) else value


def _absent(annotation: str) -> Any:
    if "None" in annotation:
        return None
    if annotation.startswith("tuple"):
        return ()
    if "Timedelta" in annotation:
        return timedelta(0)
    if "bool" in annotation:
        return False
    return "" if "str" in annotation or "Name" in annotation else 0


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, enum.Enum):
        return value.name
    return value
