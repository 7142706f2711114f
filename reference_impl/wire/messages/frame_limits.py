"""Limits of a request frame, which are checked before the library kio decodes the frame.

The lines show the checks and their consequences:

    each length and count    -> are so many bytes left in the frame?       no -> refuse the frame
    each count of elements   -> is the sum of the counts within the limit? no -> refuse the frame
    all lengths and counts were checked                                       -> kio decodes it

kio allocates the declared number of array elements before it reads the first element. A frame of 39
bytes with the count 2**32 - 2 makes kio allocate 71 GB, which aborts the process. So `check` first
scans the lengths, counts and tags of the frame, according to kio's schemas.

A million empty strings of one byte each would occupy the broker for seconds. So the number of
elements is limited, unlike in Kafka.

Source: MetadataRequestData.read ("Tried to allocate a collection of size") and its like;
Processor.processCompletedReceives; NetworkReceive.readFrom (socket.request.max.bytes); KIP-482
(tagged fields), KIP-893 (nullable structs).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Final, NoReturn

from reference_impl.wire.messages.field_types import SIZES, shape

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_VARINT_BYTES: Final = 5  # ByteUtils.readUnsignedVarint rejects a longer one
_NULL_STRUCT: Final = 0xFF  # the marker -1 of an absent struct


class FrameRefused(ValueError):
    """Raised if a frame is shorter than its length fields declare, or exceeds a limit."""


class TooManyElements(FrameRefused):
    """Raised if a frame has more elements than the limits permit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLimits:
    """The limits of a request frame.

    `elements` limits the total number of array elements and tagged fields. Elements of nested
    arrays count, too.
    """

    frame_bytes: int = 100 * 1024 * 1024  # socket.request.max.bytes
    elements: int = 10_000


LIMITS: Final = FrameLimits()
# What the event loop of the brokers handles itself: at most about 50 ms of Python.
INLINE: Final = FrameLimits(elements=600)


@dataclass(slots=True)
class _Scan:
    data: bytes
    size: int
    limit: int  # of elements
    elements: int = 0

    def take(self, count: int, at: int) -> None:
        """Counts the elements of an array. Raises FrameRefused if there are too many."""
        # Each element takes at least one byte.
        if count > self.size - at:
            _refuse(at, f"{count} elements are declared, {max(0, self.size - at)} bytes are left")
        self.elements += count
        if self.elements > self.limit:
            raise TooManyElements(f"byte {at}: more than {self.limit} elements in a frame")


Skip = Callable[[_Scan, int], int]  # returns the position after the value that starts at a position


def check(kind: Any, frame: bytes, at: int, limits: FrameLimits = LIMITS) -> int:
    """Checks a header or a body that begins at the position `at`, and returns the position after
    it.

    `kind` is the class of the header or body in kio. Raises FrameRefused if a check fails.
    """
    scan = _Scan(frame, len(frame), limits.elements)
    try:
        end = _entity(kind)(scan, at)
    except (IndexError, struct.error):
        _refuse(len(frame), "the frame ends inside a field")
    if end > len(frame):
        _refuse(len(frame), f"the frame ends {end - len(frame)} bytes too early")
    return end


def _refuse(at: int, what: str) -> NoReturn:
    raise FrameRefused(f"byte {at}: {what}")


# ---------------------------------------------------------------- scanners from the schemas


@cache
def _entity(kind: Any) -> Skip:
    flexible: bool = kind.__flexible__
    is_header = kind.__name__ == "RequestHeader"
    steps: list[Skip] = []
    fixed = 0
    tagged: dict[int, Skip] = {}
    for field in fields(kind):
        # The client id has a length of two bytes also in the flexible header (KIP-511).
        is_flexible = flexible and not (is_header and field.name == "client_id")
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = _field(field, flexible=flexible, tagged=True)
        elif (size := _fixed_size(field.type, field)) is not None:
            fixed += size
        else:
            steps += [*_fixed_step(fixed), _field(field, flexible=is_flexible)]
            fixed = 0
    steps += _fixed_step(fixed)
    if flexible:
        steps.append(_tags(tagged))
    return steps[0] if len(steps) == 1 else _in_turn(tuple(steps))


def _fixed_size(kind: Any, field: Field[Any]) -> int | None:
    inner, is_array, _ = shape(kind)
    if is_array:
        return None
    if not is_dataclass(inner):
        return SIZES.get(field.metadata["kafka_type"])
    return None


def _field(field: Field[Any], *, flexible: bool, tagged: bool = False) -> Skip:
    inner, is_array, is_nullable = shape(field.type)
    one: Skip
    size: int | None = None
    if is_dataclass(inner):
        struct_kind: Any = inner
        one = _entity(struct_kind)
        size = _size_of(struct_kind)
    else:
        name = field.metadata["kafka_type"]
        size = SIZES.get(name)
        one = _fixed(size) if size is not None else _length_prefixed(name, flexible=flexible)
    if is_array:
        return _array(one, size, flexible=flexible)
    if is_dataclass(inner) and is_nullable and not tagged:
        return _nullable_struct(one)
    return one


def _size_of(kind: Any) -> int | None:
    if kind.__flexible__:
        return None
    sizes = [_fixed_size(field.type, field) for field in fields(kind)]
    return None if None in sizes else sum(size for size in sizes if size is not None)


# ---------------------------------------------------------------- the kinds of fields


def _fixed_step(size: int) -> list[Skip]:
    return [_fixed(size)] if size else []


def _fixed(size: int) -> Skip:
    return lambda _, at: at + size


def _in_turn(steps: tuple[Skip, ...]) -> Skip:
    def skip(scan: _Scan, at: int) -> int:
        for step in steps:
            at = step(scan, at)
        return at

    return skip


def _length_prefixed(name: str, *, flexible: bool) -> Skip:
    # A negative length means null.
    if flexible:
        return _compact
    return _short if name == "string" else _long


def _compact(scan: _Scan, at: int) -> int:
    length, at = _varint(scan, at)
    return _within(scan, at, length - 1)


def _short(scan: _Scan, at: int) -> int:
    (length,) = _INT16.unpack_from(scan.data, at)
    return _within(scan, at + 2, length)


def _long(scan: _Scan, at: int) -> int:
    (length,) = _INT32.unpack_from(scan.data, at)
    return _within(scan, at + 4, length)


def _within(scan: _Scan, at: int, length: int) -> int:
    if length > scan.size - at:
        _refuse(at, f"{length} bytes are declared, {max(0, scan.size - at)} are left")
    return at + length if length > 0 else at


def _array(one: Skip, size: int | None, *, flexible: bool) -> Skip:
    def skip(scan: _Scan, at: int) -> int:
        if flexible:
            count, at = _varint(scan, at)
            count -= 1
        else:
            (count,) = _INT32.unpack_from(scan.data, at)
            at += 4
        if count <= 0:
            return at
        scan.take(count, at)
        if size is not None:
            return _within(scan, at, count * size)
        for _ in range(count):
            at = one(scan, at)
        return at

    return skip


def _nullable_struct(one: Skip) -> Skip:
    def skip(scan: _Scan, at: int) -> int:
        return at + 1 if scan.data[at] == _NULL_STRUCT else one(scan, at + 1)

    return skip


def _tags(known: dict[int, Skip]) -> Skip:
    def skip(scan: _Scan, at: int) -> int:
        if scan.data[at] == 0:
            return at + 1
        count, at = _varint(scan, at)
        scan.take(count, at)
        for _ in range(count):
            tag, at = _varint(scan, at)
            size, at = _varint(scan, at)
            _within(scan, at, size)
            at = known[tag](scan, at) if tag in known else at + size
        return at

    return skip


def _varint(scan: _Scan, at: int) -> tuple[int, int]:
    byte = scan.data[at]
    if byte < 0x80:
        return byte, at + 1
    number = shift = 0
    for place in range(at, at + _VARINT_BYTES):
        byte = scan.data[place]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place + 1
        shift += 7
    _refuse(at, f"a varint has more than {_VARINT_BYTES} bytes")
