"""Translates frames to request bodies, and responses to frames, on the side of the broker.

The response to ApiVersions always has header version 0.

Bytes after a body are ignored, as in Kafka: librdkafka 2.16 sends three such bytes after a Metadata
request for all topics.

Source: Kafka documentation, "Protocol Guide"; KIP-482 (flexible versions), KIP-511 (ApiVersions).
Simplified: Responses have no throttle time. A request with an unknown tagged field is rejected,
because kio does not skip the field.
"""

from __future__ import annotations

import struct
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import ModuleType
from typing import Any, Final, Literal, get_args

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.entity_writer import writer
from reference_impl.wire.messages.frame_limits import LIMITS, FrameLimits, TooManyElements, check
from reference_impl.wire.messages.kio_schemas import (
    EntityType,
    KioErrorCode,
    SerialError,
    entity_reader,
    load_payload_module,
)
from reference_impl.wire.messages.versions import VERSIONS

Side = Literal[EntityType.request, EntityType.response]

_REQUEST: Final = struct.Struct(">hhi")  # api key, api version, correlation id
_LENGTH: Final = struct.Struct(">i")
_CORRELATION_ID: Final = struct.Struct(">i")
_NO_TAGS: Final = b"\0"
_ZERO: Final = timedelta(0)
_MILLISECOND: Final = timedelta(milliseconds=1)


class MalformedFrame(ValueError):
    """Raised for a frame that is invalid or not supported. The connection must be closed."""


class LargeFrame(MalformedFrame):
    """Raised if a frame has more elements than the limits permit."""


class UnsupportedApiVersions(ValueError):
    """Raised for an ApiVersions request of an unknown version. The response to it has version 0."""

    def __init__(self, correlation_id: int) -> None:
        super().__init__(f"ApiVersions, correlation {correlation_id}")
        self.correlation_id = correlation_id


@dataclass(frozen=True, slots=True)
class Call:
    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: Any

    def make(self, part: str, /, **values: Any) -> Any:
        """Returns an object of the class that `part` names: the response, or a structure inside the
        response. The object has the fields `values`.

        Fields in `values` that the request's version lacks are ignored.
        """
        kind, takes, errors = _parts(self.api, self.version)[part]
        taken = {field: values[field] for field in takes if field in values}
        for field in errors:
            if field in taken:
                taken[field] = _ERRORS.get(taken[field]) or KioErrorCode(taken[field])
        return kind(**taken)

    def respond(self, **values: Any) -> bytes:
        """Returns the frame of the response with the fields `values`. The frame begins with its
        length.
        """
        name, kind = _response(self.api, self.version)
        entity = self.make(name, throttle_time=_ZERO, **values)
        out = [b"", _CORRELATION_ID.pack(self.correlation_id)]
        if kind.__header_schema__.__flexible__:
            out.append(_NO_TAGS)
        writer(kind)(out, entity)
        out[0] = _LENGTH.pack(sum(map(len, out)))
        return b"".join(out)


def decode(frame: bytes, limits: FrameLimits = LIMITS) -> Call:
    """Returns the request in a frame, which has no length prefix.

    Raises LargeFrame if the frame has too many elements. Raises UnsupportedApiVersions for an
    ApiVersions request of an unknown version, and MalformedFrame for any other invalid frame.
    """
    if len(frame) < _REQUEST.size:
        raise MalformedFrame(f"a frame of {len(frame)} bytes is too short for a request header")
    key, version, correlation_id = _REQUEST.unpack_from(frame)
    if key not in VERSIONS:
        raise MalformedFrame(f"api key {key} is not supported; ApiVersions lists those that are")
    api = Api(key)
    if version not in VERSIONS[api]:
        if api is Api.API_VERSIONS:
            raise UnsupportedApiVersions(correlation_id)
        raise MalformedFrame(f"{api.name} version {version} is not supported")
    kind = request_kind(api, version)
    try:
        # Before the decoding, because kio trusts the lengths and counts in the frame.
        check(kind, frame, check(kind.__header_schema__, frame, 0, limits), limits)
        header, at = entity_reader(kind.__header_schema__)(frame, 0)
        body, _ = entity_reader(kind)(frame, at)
    except TooManyElements as error:
        raise LargeFrame(f"{api.name} version {version}: {error}") from error
    except (SerialError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise MalformedFrame(f"{api.name} version {version}: {error}") from error
    missing = _missing(body)
    if missing is not None:
        raise MalformedFrame(f"{api.name} version {version}: {missing} is null")
    return Call(api, version, correlation_id, header.client_id, body)


def _missing(entity: Any) -> str | None:
    # Needed because kio accepts null arrays.
    kind: Any = type(entity)
    for name, nullable, has_parts in _checked(kind):
        value = getattr(entity, name)
        if value is None:
            if not nullable:
                return f"{kind.__name__}.{name}"
        elif has_parts:
            for part in value if isinstance(value, tuple) else (value,):
                found = _missing(part)
                if found is not None:
                    return found
    return None


@cache
def _checked(kind: Any) -> tuple[tuple[str, bool, bool], ...]:
    """Returns the fields that must be checked for null values. Each field is a tuple: its name,
    whether it may be null, and whether it contains structures.
    """
    found = [
        (field.name, "None" in str(field.type), _has_parts(field.type)) for field in fields(kind)
    ]
    return tuple(entry for entry in found if not entry[1] or entry[2])


def _has_parts(kind: Any) -> bool:
    return is_dataclass(kind) or any(map(_has_parts, get_args(kind)))


def milliseconds(span: timedelta) -> int:
    return round(span / _MILLISECOND)


def span(ms: int) -> timedelta:
    return timedelta(milliseconds=ms)


_ERRORS: Final = {int(error): error for error in KioErrorCode}


@cache
def request_kind(api: Api, version: int) -> Any:
    return payload(api, version, EntityType.request)[1]


@cache
def _response(api: Api, version: int) -> tuple[str, Any]:
    return payload(api, version, EntityType.response)


@cache
def _parts(api: Api, version: int) -> dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]]:
    """Returns the classes that make up a response, by name. The value is a triple: the class, the
    names of its fields, and the names of those fields that contain error codes.

    For example, `{"PartitionData": (PartitionData, ("error_code", ...), ("error_code",))}`.
    """
    return {
        name: (kind, takes, tuple(field for field in takes if field.endswith("error_code")))
        for name, (kind, takes) in parts(api, version, EntityType.response).items()
    }


@cache
def parts(api: Api, version: int, entity_type: Side) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Returns the classes that make up a message, by name. The value is a pair: the class, and the
    names of its fields.
    """
    module = load_payload_module(api, version, entity_type)
    return {name: (kind, tuple(f.name for f in fields(kind))) for name, kind in _classes(module)}


@cache
def payload(api: Api, version: int, entity_type: Side) -> tuple[str, Any]:
    """Returns the name and the class of the request or response, not of the structs inside it."""
    module = load_payload_module(api, version, entity_type)
    (found,) = [(name, kind) for name, kind in _classes(module) if kind.__type__ is entity_type]
    return found


def _classes(module: ModuleType) -> list[tuple[str, Any]]:
    return [
        (name, kind)
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and getattr(kind, "__dataclass_fields__", MISSING) is not MISSING
    ]
