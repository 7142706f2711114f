"""The fast writer writes the same bytes as kio, for every message of every supported version."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest

from reference_impl.wire.messages.adapter import parts, payload
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.entity_writer import written
from reference_impl.wire.messages.kio_schemas import EntityType, KioErrorCode, entity_writer
from reference_impl.wire.messages.versions import VERSIONS

NUMBERS = {
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
SIZES = (0, 1, 2, 126, 127, 128, 300)


def drawn(kind: Any, chance: random.Random) -> Any:
    """Returns an entity of the class with random values.

    Some tagged fields keep their default.
    """
    values: dict[str, Any] = {}
    for field in fields(kind):
        if "tag" in field.metadata and chance.random() < 0.5:
            continue
        values[field.name] = value(field.type, field.metadata, chance)
    return kind(**values)


def value(kind: Any, metadata: Any, chance: random.Random) -> Any:
    if NoneType in get_args(kind):
        if chance.random() < 0.3 and "tag" not in metadata:
            return None
        (kind,) = [one for one in get_args(kind) if one is not NoneType]
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return tuple(value(inner, metadata, chance) for _ in range(chance.choice((0, 1, 3))))
    if is_dataclass(kind):
        return drawn(kind, chance)
    name = metadata["kafka_type"]
    if name in NUMBERS:
        low, high = NUMBERS[name]
        return chance.choice((low, high, 0, chance.randint(low, high)))
    draw: dict[str, Callable[[], Any]] = {
        "bool": lambda: chance.random() < 0.5,
        "error_code": lambda: chance.choice([*KioErrorCode]),
        "float64": chance.random,
        "string": lambda: "ä" * chance.choice(SIZES),
        "bytes": lambda: b"b" * chance.choice(SIZES),
        "records": lambda: b"r" * chance.choice(SIZES),
        "uuid": lambda: chance.choice((None, UUID(int=chance.getrandbits(128)))),
        "timedelta_i32": lambda: timedelta(milliseconds=chance.randint(0, 2**31 - 1)),
        "timedelta_i64": lambda: timedelta(milliseconds=chance.randint(0, 2**40)),
        "datetime_i64": lambda: datetime.fromtimestamp(chance.randint(0, 2**31), UTC),
    }
    return draw[name]()


def by_kio(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


@pytest.mark.parametrize("api", VERSIONS, ids=lambda api: api.name)
def test_the_writer_writes_the_bytes_that_kio_writes(api: Api) -> None:
    versions = VERSIONS[api]
    for version in range(versions.first_answered, versions.last + 1):
        for side in (EntityType.request, EntityType.response):
            _, kind = payload(api, version, side)
            for seed in range(8):
                chance = random.Random(f"{api} {version} {side} {seed}")
                for one in (kind, kind.__header_schema__):
                    entity = drawn(one, chance)
                    assert written(entity) == by_kio(entity), entity


def response_part(name: str, **values: Any) -> Any:
    kind, _ = parts(Api.FIND_COORDINATOR, 3, EntityType.response)[name]
    return kind(
        throttle_time=timedelta(0), error_code=KioErrorCode(0), error_message=None, **values
    )


def test_an_invalid_value_is_an_error() -> None:
    valid = {"node_id": 1, "host": "h", "port": 9}
    assert written(response_part("FindCoordinatorResponse", **valid))
    for wrong, error in (
        ({"host": None}, TypeError),
        ({"port": 2**31}, struct.error),
        ({"node_id": "1"}, struct.error),
    ):
        with pytest.raises(error):
            written(response_part("FindCoordinatorResponse", **{**valid, **wrong}))
