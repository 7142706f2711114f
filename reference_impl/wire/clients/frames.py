"""Translates request bodies to frames, and frames to response bodies, on the side of a client.

A `Writer` omits the fields that its version of the API lacks. A request uses the highest version
that both the client and the broker support.

Source: Kafka documentation, "Protocol Guide"; KIP-35, KIP-511.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reference_impl.wire.messages.adapter import MalformedFrame, parts, payload
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.kio_schemas import (
    EntityType,
    SerialError,
    entity_reader,
    entity_writer,
)

CLIENT_ID: Final = "urteil"
_CORRELATION: Final = struct.Struct(">i")
_LENGTH: Final = struct.Struct(">i")

Range = tuple[int, int]  # the first and the last version
Offered = Mapping[int, Range]  # the versions that a broker offers, by API key


class NoCommonVersion(ValueError):
    """Raised if the broker offers no version of a request that this client can write."""


@dataclass(frozen=True, slots=True)
class Writer:
    api: Api
    version: int

    def make(self, part: str, /, **values: Any) -> Any:
        kind, takes = parts(self.api, self.version, EntityType.request)[part]
        return kind(**{field: values[field] for field in takes if field in values})

    def frame(self, correlation: int, **values: Any) -> bytes:
        """Returns the frame of a request with the fields `values`. The frame begins with its
        length.
        """
        name, kind = payload(self.api, self.version, EntityType.request)
        header = kind.__header_schema__
        given: dict[str, Any] = {
            "request_api_key": self.api,
            "request_api_version": self.version,
            "correlation_id": correlation,
            "client_id": CLIENT_ID,
        }
        takes = {name: given[name] for name in header.__dataclass_fields__ if name in given}
        out = io.BytesIO()
        entity_writer(header)(out, header(**takes))
        entity_writer(kind)(out, self.make(name, **values))
        written = out.getvalue()
        return _LENGTH.pack(len(written)) + written


def chosen_version(api: Api, writes: Range, offered: Offered) -> int:
    """Returns the highest version that the client writes and the broker offers. Raises
    NoCommonVersion if there is no such version.
    """
    first, last = offered.get(api, (0, -1))
    version = min(writes[1], last)
    if version < max(writes[0], first):
        has = f"offers versions {first} to {last}" if last >= 0 else "does not offer it"
        raise NoCommonVersion(
            f"{api.name}: the client writes versions {writes[0]} to {writes[1]}, the broker {has}"
        )
    return version


def correlation_of(frame: bytes) -> int:
    """Returns the correlation id of a response. `frame` has no length prefix. Raises
    MalformedFrame if the frame is too short.
    """
    if len(frame) < _CORRELATION.size:
        raise MalformedFrame(f"a response of {len(frame)} bytes has no correlation id")
    (correlation,) = _CORRELATION.unpack_from(frame)
    return int(correlation)


def response_body(api: Api, version: int, frame: bytes) -> Any:
    """Returns the decoded body of a response. `frame` has no length prefix. Raises
    MalformedFrame if the frame does not follow the schema.
    """
    kind: Any = payload(api, version, EntityType.response)[1]
    try:
        _, at = entity_reader(kind.__header_schema__)(frame, 0)
        body, _ = entity_reader(kind)(frame, at)
    except (SerialError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
        raise MalformedFrame(f"{api.name} response version {version}: {error}") from error
    return body


def api_versions_request(correlation: int) -> bytes:
    """Returns the frame of an ApiVersions request of version 0, which every broker understands."""
    return Writer(Api.API_VERSIONS, 0).frame(correlation)


def offered_versions(frame: bytes) -> Offered:
    """Returns the lowest and the highest version that a broker offers for each API key. `frame`
    is the response to `api_versions_request`.
    """
    body = response_body(Api.API_VERSIONS, 0, frame)
    return {one.api_key: (one.min_version, one.max_version) for one in body.api_keys}
