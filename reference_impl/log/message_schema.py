"""Reads and writes messages according to a table of their fields, in the formats of Kafka's
generated protocol. Each line has a type and its bytes:

    string, bytes, array       the length or count as int16 or int32, then the content; -1 is null
    string ..., if flexible    the length or count plus 1 as an unsigned varint; 0 is null
    struct, if flexible        ends with its tagged fields: count, then number, size and content

A tagged field is not written if it has its default value.

Source: Kafka documentation, "Protocol Guide"; KIP-482 (tagged fields).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from reference_impl.log.varint import read_unsigned_varint, write_unsigned_varint

Plain = (
    None | bool | int | str | bytes | UUID | list["Plain"] | dict[str, "Plain"]
)  # the value of a field
Message = Mapping[str, Plain]


class Field(NamedTuple):
    """A field of a message. If the field has a `tag`, it is written after the fields without a tag.

    The `type` is the name of a scalar type, or the fields of a struct. If `many` is True, the field
    is an array of this type.
    """

    name: str
    type: str | tuple[Field, ...]
    tag: int | None = None
    default: Plain = None
    many: bool = False


Fields = tuple[Field, ...]
_FORMATS: Final = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
}
_INT16: Final = _FORMATS["int16"]
_INT32: Final = _FORMATS["int32"]
_UUID_SIZE: Final = 16


def written(fields: Fields, message: Message, *, flexible: bool) -> bytes:
    """Returns the bytes of the message. Raises KeyError if the message lacks a field that has no
    tag. Such a field is mandatory.
    """
    out = bytearray()
    _write_struct(out, fields, message, flexible=flexible)
    return bytes(out)


def read(
    fields: Fields, data: bytes, at: int = 0, *, flexible: bool
) -> tuple[dict[str, Plain], int]:
    """Returns the message at the position `at`, and the position after the message. Raises
    IndexError, ValueError or struct.error if the bytes do not fit the fields.
    """
    message: dict[str, Plain] = {}
    for field in fields:
        if field.tag is None:
            message[field.name], at = _read_field(field, data, at, flexible=flexible)
        else:
            message[field.name] = field.default
    if flexible:
        tagged = {field.tag: field for field in fields if field.tag is not None}
        count, at = read_unsigned_varint(data, at)
        for _ in range(count):
            tag, at = read_unsigned_varint(data, at)
            size, at = read_unsigned_varint(data, at)
            if (of := tagged.get(tag)) is not None:
                message[of.name], _ = _read_field(of, data, at, flexible=flexible)
            at += size
    return message, at


def _write_struct(out: bytearray, fields: Fields, message: Message, *, flexible: bool) -> None:
    tagged: list[tuple[int, Field]] = []
    for field in fields:
        if field.tag is None:
            _write_field(out, field, message[field.name], flexible=flexible)
        elif message.get(field.name, field.default) != field.default:
            tagged.append((field.tag, field))
    if not flexible:
        return
    write_unsigned_varint(out, len(tagged))
    for tag, field in sorted(tagged, key=lambda one: one[0]):
        content = bytearray()
        _write_field(content, field, message[field.name], flexible=flexible)
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(content))
        out += content


def _write_field(out: bytearray, field: Field, value: Plain, *, flexible: bool) -> None:
    if not field.many:
        _write_value(out, field.type, value, flexible=flexible)
        return
    items = value if isinstance(value, list) else None
    _write_size(out, None if items is None else len(items), _INT32, flexible=flexible)
    for item in items or ():
        _write_value(out, field.type, item, flexible=flexible)


def _write_value(out: bytearray, of: str | Fields, value: Plain, *, flexible: bool) -> None:
    if isinstance(value, dict) and not isinstance(of, str):
        _write_struct(out, of, value, flexible=flexible)
    elif isinstance(value, UUID) and of == "uuid":
        out += value.bytes
    elif isinstance(value, int) and isinstance(of, str):
        out += _FORMATS[of].pack(value)
    elif isinstance(value, str | bytes | None) and of in {"string", "bytes"}:
        data = value.encode(errors="surrogateescape") if isinstance(value, str) else value
        prefix = _INT16 if of == "string" else _INT32
        _write_size(out, None if data is None else len(data), prefix, flexible=flexible)
        out += data or b""
    else:
        raise ValueError(f"{value!r} is no {of}")


def _write_size(out: bytearray, size: int | None, prefix: struct.Struct, *, flexible: bool) -> None:
    if flexible:
        write_unsigned_varint(out, 0 if size is None else size + 1)
    else:
        out += prefix.pack(-1 if size is None else size)


def _read_field(field: Field, data: bytes, at: int, *, flexible: bool) -> tuple[Plain, int]:
    if not field.many:
        return _read_value(field.type, data, at, flexible=flexible)
    count, at = _read_size(data, at, _INT32, flexible=flexible)
    items: list[Plain] = []
    for _ in range(count):
        item, at = _read_value(field.type, data, at, flexible=flexible)
        items.append(item)
    return (None if count < 0 else items), at


def _read_value(of: str | Fields, data: bytes, at: int, *, flexible: bool) -> tuple[Plain, int]:
    if not isinstance(of, str):
        return read(of, data, at, flexible=flexible)
    if of in _FORMATS:
        (number,) = _FORMATS[of].unpack_from(data, at)
        return int(number), at + _FORMATS[of].size
    if of == "uuid":
        return UUID(bytes=data[at : at + _UUID_SIZE]), at + _UUID_SIZE
    size, at = _read_size(data, at, _INT16 if of == "string" else _INT32, flexible=flexible)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise IndexError(f"a field claims {size} bytes, but only {len(data) - at} are left")
    content = data[at : at + size]
    value = content.decode(errors="surrogateescape") if of == "string" else content
    return value, at + size


def _read_size(data: bytes, at: int, prefix: struct.Struct, *, flexible: bool) -> tuple[int, int]:
    if flexible:
        size, at = read_unsigned_varint(data, at)
        return size - 1, at
    (size,) = prefix.unpack_from(data, at)
    return size, at + prefix.size
