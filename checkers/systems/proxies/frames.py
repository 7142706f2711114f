"""Reads the frames of Kafka's protocol. A frame is a length of four bytes, followed by a request or
a response.

Source: Kafka documentation, "Protocol Guide": "Common Request and Response Structure".
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Final

LENGTH: Final = struct.Struct(">i")
_REQUEST: Final = struct.Struct(">hhi")  # api key, api version, correlation id
_STRING: Final = struct.Struct(">h")
MAX_FRAME_BYTES: Final = 100 * 1024 * 1024  # socket.request.max.bytes


class NotKafka(ValueError):
    """Raised for bytes that are not frames of Kafka's protocol, such as the bytes of a TLS
    connection.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a request. It can be read even if the type or version of the request is
    unknown.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def request_header(frame: bytes) -> Header:
    """Returns the header of a request frame. Raises NotKafka if the frame is too short. `frame`
    does not include the four bytes of the length.
    """
    if len(frame) < _REQUEST.size:
        raise NotKafka(f"a request of {len(frame)} bytes; a header has {_REQUEST.size} or more")
    api_key, api_version, correlation_id = _REQUEST.unpack_from(frame)
    return Header(
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
        client_id=_client_id(frame),
    )


def _client_id(frame: bytes) -> str | None:
    start = _REQUEST.size + _STRING.size
    if len(frame) < start:
        return None
    (length,) = _STRING.unpack_from(frame, _REQUEST.size)
    return frame[start : start + length].decode("utf-8", "replace") if length >= 0 else None


def correlation_id(frame: bytes) -> int:
    """Returns the correlation id of a response frame. Raises NotKafka if the frame is too short.
    `frame` does not include the four bytes of the length.
    """
    if len(frame) < LENGTH.size:
        raise NotKafka(f"a response of {len(frame)} bytes; a correlation id has {LENGTH.size}")
    (found,) = LENGTH.unpack_from(frame)
    return int(found)


async def read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """Returns the next frame without the four bytes of its length. Returns None at the end of the
    stream, even if the final frame is incomplete. Raises NotKafka if the length is invalid.
    """
    try:
        (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        if not 0 <= length <= MAX_FRAME_BYTES:
            raise NotKafka(f"a frame of {length} bytes; the limit is {MAX_FRAME_BYTES}")
        return await reader.readexactly(length)
    # An incomplete frame at the end of the stream is dropped.
    except asyncio.IncompleteReadError:
        return None


def framed(frame: bytes) -> bytes:
    return LENGTH.pack(len(frame)) + frame
