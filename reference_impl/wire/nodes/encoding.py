"""Encodes the messages between nodes: a JSON array, and after it the records and other bytes.

The JSON array has four elements:

    [is a request, correlation id, name of the class, values of its fields in order]

Each line shows the type of a field, and its form in the JSON array:

    dataclass            an array of its fields
    bytes                their length; the bytes follow the JSON array, in the order of the lengths
    Enum                 its value
    tuple, frozenset     an array
    mapping              an array of pairs

The receiver creates only objects of the classes of `protocol`. So the received bytes cannot select
a function to call, as the bytes of a pickle can.

A connection sends only the changes of a metadata image (`metadata_changes`). So each connection has
its own encoder and decoder.
"""

from __future__ import annotations

import json
import struct
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from reference_impl.disk.metadata_changes import MetadataChanges
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.controller import UpdateMetadata
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request, Response

Message = RequestReceived | ResponseReceived
Write = Callable[[Any, list[bytes]], Any]  # a value to JSON; its bytes are added to the list
Read = Callable[[Any, "Bytes"], Any]  # the reverse
_LENGTH: Final = struct.Struct(">I")  # of the JSON array
REQUESTS: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Request)}
RESPONSES: Final[Mapping[str, type[Any]]] = {kind.__name__: kind for kind in get_args(Response)}
_writers: dict[Any, Write] = {}
_readers: dict[Any, Read] = {}


class MalformedMessage(ValueError):
    """Raised if bytes are not a valid message between nodes."""


class Encoder:
    """Encodes the messages of one connection. They must be encoded in the order in which they are
    sent.

    An UpdateMetadata message is encoded as the change from the metadata image that the connection
    sent before.
    """

    def __init__(self) -> None:
        self._metadata = MetadataChanges()

    def encode(self, message: Message) -> bytes:
        is_request = isinstance(message, RequestReceived)
        content: Any = message.request if isinstance(message, RequestReceived) else message.response
        parts: list[bytes] = []
        if isinstance(content, UpdateMetadata):
            value: Any = self._metadata.to(content.image)
        else:
            value = _writer(type(content))(content, parts)
        entry = [is_request, message.correlation, type(content).__name__, value]
        text = json.dumps(entry, separators=(",", ":")).encode()
        return b"".join((_LENGTH.pack(len(text)), text, *parts))


class Decoder:
    """Decodes the messages of one connection, in the order in which they were sent."""

    def __init__(self, sender: NodeId) -> None:
        self._sender = sender
        self._metadata = MetadataChanges()

    def decode(self, data: bytes) -> Message:
        """Returns the message in `data`. Raises MalformedMessage if `data` is not a valid
        message.
        """
        try:
            (size,) = _LENGTH.unpack_from(data)
            end = _LENGTH.size + size
            is_request, correlation, name, value = json.loads(data[_LENGTH.size : end])
            if type(correlation) is not int or type(is_request) is not bool:
                raise MalformedMessage(f"correlation id {correlation!r}")
            left = Bytes(data, end)
            kind = (REQUESTS if is_request else RESPONSES)[name]
            read = self._updated if kind is UpdateMetadata else _reader(kind)
            content = read(value, left)
        except (ValueError, TypeError, KeyError, struct.error, RecursionError) as error:
            raise MalformedMessage(f"malformed message: {error!r}") from error
        if left.at != len(data):
            raise MalformedMessage(f"{len(data) - left.at} bytes are too many")
        received = RequestReceived if is_request else ResponseReceived
        return received(self._sender, correlation, content)

    def _updated(self, change: dict[str, Any], _left: Bytes) -> Any:
        self._metadata.apply(change)
        return UpdateMetadata(image=self._metadata.image)


class Bytes:
    """The `bytes` fields of a message, which follow its JSON array. `take` returns the next
    field.
    """

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def take(self, size: Any) -> bytes:
        if type(size) is not int or not 0 <= size <= len(self._data) - self.at:
            raise MalformedMessage(f"{size!r} bytes are declared")
        self.at += size
        return self._data[self.at - size : self.at]


# ---------------------------------------------------------------- a function for each type


def _writer(of: Any) -> Write:
    if of not in _writers:
        _writers[of] = _new_writer(of)
    return _writers[of]


def _reader(of: Any) -> Read:
    if of not in _readers:
        _readers[of] = _new_reader(of)
    return _readers[of]


def _new_writer(of: Any) -> Write:
    of, origin, args = _plain(of)
    if of in _SCALARS:
        return _itself
    if isinstance(of, type) and issubclass(of, Enum):
        return _enum_value
    if of is bytes:
        return _append
    if origin in {Union, types.UnionType}:
        return _optional_writer(args)
    if origin is frozenset or (origin is tuple and args[-1] is Ellipsis):
        item = _writer(args[0])
        return lambda value, parts: [item(one, parts) for one in value]
    if origin is tuple:
        items = [_writer(arg) for arg in args]
        return lambda value, parts: [
            write(one, parts) for write, one in zip(items, value, strict=True)
        ]
    if origin is not None:
        key, entry = map(_writer, args)
        return lambda value, parts: [[key(one, parts), entry(value[one], parts)] for one in value]
    named = [(name, _writer(hint)) for name, hint in _fields(of)]
    return lambda value, parts: [write(getattr(value, name), parts) for name, write in named]


def _new_reader(of: Any) -> Read:
    of, origin, args = _plain(of)
    if of in _SCALARS:
        return lambda value, _left: _checked(of, value)
    if of is bytes:
        return lambda size, left: left.take(size)
    if isinstance(of, type) and issubclass(of, Enum):
        return lambda value, _left: of(value)
    if origin in {Union, types.UnionType}:
        present = [arg for arg in args if arg is not types.NoneType]
        if len(present) > 1:
            return _nothing
        read = _reader(present[0])
        return lambda value, left: None if value is None else read(value, left)
    if origin is frozenset or (origin is tuple and args[-1] is Ellipsis):
        item = _reader(args[0])
        return lambda value, left: origin(item(one, left) for one in _checked(list, value))
    if origin is tuple:
        items = [_reader(arg) for arg in args]
        return lambda value, left: tuple(
            read(one, left) for read, one in zip(items, value, strict=True)
        )
    if origin is not None:
        key, entry = map(_reader, args)
        return lambda value, left: {key(one, left): entry(other, left) for one, other in value}
    named = [(name, _reader(hint)) for name, hint in _fields(of)]
    return lambda value, left: of(
        **{
            name: read(one, left)
            for (name, read), one in zip(named, _checked(list, value), strict=True)
        }
    )


_SCALARS: Final = frozenset({int, str, bool, float})


def _plain(of: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    while hasattr(of, "__supertype__"):  # a NewType
        of = of.__supertype__
    return of, get_origin(of), get_args(of)


def _fields(of: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(of)
    names = [field.name for field in fields(of)] if is_dataclass(of) else [*hints]
    return [(name, hints[name]) for name in names]


def _optional_writer(args: tuple[Any, ...]) -> Write:
    present = [arg for arg in args if arg is not types.NoneType]
    if len(present) > 1:
        # Produce.scanned: a note of the server for its own broker
        return _nothing
    write = _writer(present[0])
    return lambda value, parts: None if value is None else write(value, parts)


def _nothing(value: Any, rest: Any) -> None:
    del value, rest


def _itself(value: Any, parts: list[bytes]) -> Any:
    del parts
    return value


def _enum_value(value: Any, parts: list[bytes]) -> Any:
    del parts
    return value.value


def _append(value: bytes, parts: list[bytes]) -> int:
    parts.append(value)
    return len(value)


def _checked(of: type[Any], value: Any) -> Any:
    if type(value) is not of and not (of is float and type(value) is int):
        raise MalformedMessage(f"{value!r} is no {of.__name__}")
    return value
