"""Random request frames: valid frames of every supported API and version, and damaged copies.

In a damaged copy, bytes are replaced, added or removed, or a length is extreme, such as 2**31 - 1.
"""

from __future__ import annotations

import io
import random
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from types import NoneType
from typing import Any, Final, get_args, get_origin

from kio.serial import entity_writer

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.wire.messages.adapter import request_kind
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS

CLIENT_ID: Final = "hostile"
_NAMES: Final = ("", "t", "hostile", "é", "x" * 300)
_COUNTS: Final = (0, 1, 1, 2, 3)
_BITS: Final = {"int8": 8, "int16": 16, "error_code": 16, "int32": 32, "int64": 64}
_LARGEST: Final = (
    b"\xff\xff\xff\xff\x0f",  # the largest compact count
    b"\x7f\xff\xff\xff",  # the largest count and length of four bytes
    b"\x7f\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A request frame without its length prefix."""

    api: Api
    version: int
    data: bytes

    @property
    def on_wire(self) -> bytes:
        return struct.pack(">i", len(self.data)) + self.data


def any_request(rng: random.Random) -> Frame:
    api = rng.choice([*VERSIONS])
    return request(api, rng.choice(versions(api)), rng)


@cache
def versions(api: Api) -> range:
    return range(VERSIONS[api].first_answered, VERSIONS[api].last + 1)


def request(api: Api, version: int, rng: random.Random) -> Frame:
    """Returns a valid frame of the API and version, with random values."""
    kind = request_kind(api, version)
    header = kind.__header_schema__
    fixed = {
        "request_api_key": api,
        "request_api_version": version,
        "correlation_id": rng.randrange(2**31),
        "client_id": CLIENT_ID,
    }
    names = {field.name for field in fields(header)}
    out = io.BytesIO()
    entity_writer(header)(out, header(**{name: fixed[name] for name in names & fixed.keys()}))
    entity_writer(kind)(out, _entity(kind, rng))
    return Frame(api, version, out.getvalue())


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Returns a copy with one to four random changes, which leave the API key and the version
    unchanged.
    """
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(4, len(changed))
        change = rng.choice(_CHANGES)
        change(changed, at, rng)
    return bytes(changed)


def noise(rng: random.Random) -> bytes:
    """Returns the header of a supported request, followed by random bytes."""
    api = rng.choice([*VERSIONS])
    body = bytes(rng.choice((0, 1, 2, 255, rng.randrange(256))) for _ in range(rng.randrange(60)))
    return struct.pack(">hhih", api, rng.choice(versions(api)), 1, -1) + body


# ---------------------------------------------------------------- values


def _entity(kind: Any, rng: random.Random) -> Any:
    return kind(**{field.name: _value(field, rng) for field in fields(kind)})


def _value(field: Any, rng: random.Random) -> Any:
    kind = field.type
    if NoneType in get_args(kind):
        (kind,) = [one for one in get_args(kind) if one is not NoneType]
        if rng.random() < 0.2 and field.metadata.get("kafka_type") != "uuid":
            return None
    if get_origin(kind) is tuple:
        return tuple(_one(field, get_args(kind)[0], rng) for _ in range(rng.choice(_COUNTS)))
    return _one(field, kind, rng)


def _one(field: Any, kind: Any, rng: random.Random) -> Any:
    if is_dataclass(kind):
        return _entity(kind, rng)
    name: str = field.metadata["kafka_type"]
    if field.name.startswith(("timeout", "max_wait", "session_timeout", "rebalance_timeout")):
        return timedelta(milliseconds=rng.randrange(50)) if "timedelta" in name else 10
    return _VALUES[name](rng) if name in _VALUES else _integer(_BITS[name], rng)


def _integer(bits: int, rng: random.Random) -> int:
    edge = 2 ** (bits - 1)
    return rng.choice((-edge, -2, -1, 0, 1, 2, 3, edge - 1))


def _batch(rng: random.Random) -> bytes:
    records = [Record(value=b"v" * rng.randrange(5), key=b"k")] * rng.randint(1, 3)
    batch = encode(
        records,
        producer_id=ProducerId(rng.choice((-1, 1))),
        producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(rng.randrange(3)),
        compression=rng.choice(("none", "gzip", "snappy", "lz4", "zstd")),
        transactional=rng.random() < 0.2,
    )
    return batch if rng.random() < 0.5 else damaged(batch, rng)


_VALUES: Final[dict[str, Callable[[random.Random], Any]]] = {
    "bool": lambda rng: rng.random() < 0.5,
    "string": lambda rng: rng.choice(_NAMES),
    "bytes": lambda rng: bytes(rng.randrange(256) for _ in range(rng.randrange(20))),
    "records": _batch,
    "uint16": lambda rng: rng.choice((0, 1, 9092, 2**16 - 1)),
    "uuid": lambda rng: rng.choice((None, uuid.UUID(int=rng.getrandbits(128)))),
    "float64": lambda rng: rng.random(),
    "timedelta_i32": lambda rng: timedelta(milliseconds=rng.randrange(50)),
    "timedelta_i64": lambda rng: timedelta(milliseconds=rng.randrange(50)),
}


# ---------------------------------------------------------------- changes


def _replace(data: bytearray, at: int, rng: random.Random) -> None:
    data[at : at + 1] = bytes([rng.randrange(256)])


def _insert(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))


def _remove(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at : at + rng.randint(1, 8)]


def _enlarge(data: bytearray, at: int, rng: random.Random) -> None:
    largest = rng.choice(_LARGEST)
    data[at : at + len(largest)] = largest


def _pad(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = bytes(rng.randint(1, 40))


_CHANGES: Final = (_replace, _insert, _remove, _enlarge, _pad)
