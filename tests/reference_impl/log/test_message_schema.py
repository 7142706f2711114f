"""Messages are written in Kafka's generated formats, and are read back unchanged."""

from __future__ import annotations

from uuid import UUID

import pytest

from reference_impl.log.message_schema import Field, Plain, read, written

ID = UUID(int=7)
EVERY_TYPE = (
    Field("small", "int8"),
    Field("name", "string"),
    Field("no_name", "string"),
    Field("bytes", "bytes"),
    Field("id", "uuid"),
    Field("inner", (Field("x", "int16"),)),
    Field("numbers", "int32", many=True),
    Field("none", "int64", many=True),
)
VALUES: dict[str, Plain] = {
    "small": -1,
    "name": "ab",
    "no_name": None,
    "bytes": b"xyz",
    "id": ID,
    "inner": {"x": 5},
    "numbers": [1, 2],
    "none": None,
}
CLASSIC = (
    b"\xff\x00\x02ab\xff\xff\x00\x00\x00\x03xyz",
    ID.bytes,
    b"\x00\x05\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\xff\xff\xff\xff",
)
FLEXIBLE = (
    b"\xff\x03ab\x00\x04xyz",
    ID.bytes,
    b"\x00\x05\x00\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00",
)


@pytest.mark.parametrize(("flexible", "data"), [(False, CLASSIC), (True, FLEXIBLE)])
def test_each_type_has_the_bytes_of_kafka(*, flexible: bool, data: tuple[bytes, ...]) -> None:
    assert written(EVERY_TYPE, VALUES, flexible=flexible) == b"".join(data)
    found, end = outcome_of_reading(b"".join(data), flexible=flexible)
    assert found == VALUES
    assert end == len(b"".join(data))


def outcome_of_reading(data: bytes, *, flexible: bool) -> tuple[object, int]:
    """Returns the message that was read, and the position after it. If the message cannot be read,
    returns the error and -1.
    """
    try:
        return read(EVERY_TYPE, data, flexible=flexible)
    except (IndexError, ValueError) as error:
        return error, -1


def test_a_uuid_has_sixteen_bytes() -> None:
    assert read((Field("id", "uuid"),), ID.bytes, flexible=False) == ({"id": ID}, 16)


TAGGED = (Field("size", "int8"), Field("more", "int8", tag=3, default=9))


def test_a_tagged_field_is_written_if_it_differs_from_its_default() -> None:
    with_more = b"\x01\x01\x03\x01\x05"
    assert written(TAGGED, {"size": 1, "more": 5}, flexible=True) == with_more
    assert written(TAGGED, {"size": 1, "more": 9}, flexible=True) == b"\x01\x00"
    assert written(TAGGED, {"size": 1}, flexible=True) == b"\x01\x00"
    assert read(TAGGED, with_more, flexible=True) == ({"size": 1, "more": 5}, 5)
    assert read(TAGGED, b"\x01\x00", flexible=True) == ({"size": 1, "more": 9}, 2)


def test_a_reader_skips_a_tagged_field_that_it_does_not_know() -> None:
    data = b"\x01\x02\x02\x04\x00\x00\x00\x00\x03\x01\x05"
    assert read(TAGGED, data, flexible=True) == ({"size": 1, "more": 5}, len(data))
