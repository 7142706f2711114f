"""The fast and the plain reader of log segments agree on any bytes and on files of real clients."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.log_dirs import headers, records, segments
from checkers.log_dirs.compression import NotPacked, unpacked
from checkers.log_dirs.folders import Segment, log_dirs
from properties.log_audit.log import Batch, Fragment
from reference_impl.log.compression import COMPRESSIONS, Compression
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from tests.checkers.log_dirs import plain, writing
from tests.properties.log_audit.notation import logs
from tests.properties.log_audit.notation import segment as segment_name

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"
quickly = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

fields = st.none() | st.binary(max_size=20)
any_records = st.builds(
    writing.record,
    st.integers(-2, 5),
    timestamp_delta_ms=st.sampled_from([0, 1, -1, 2**40, -(2**62), 2**63 - 1]),
    key=fields,
    value=fields | st.binary(min_size=60, max_size=200),
    headers=st.lists(st.tuples(st.binary(max_size=9), fields), max_size=3),
)
ascending = st.lists(st.integers(0, 9), unique=True).map(sorted)
sound_bodies = ascending.map(lambda deltas: (b"".join(map(writing.record, deltas)), len(deltas)))
odd_bodies = st.tuples(
    st.lists(any_records | st.binary(max_size=9), max_size=4).map(b"".join), st.integers(-1, 5)
)
markers = st.builds(
    lambda kind, key, value: (
        writing.record(0, key=struct.pack(">hh", 0, kind)[:key], value=value),
        1,
    ),
    st.sampled_from([0, 0, 1, 1, -1, 2]),
    st.sampled_from([4, 4, 4, 3]),
    st.binary(min_size=4, max_size=7),
)


@st.composite
def one_batch(draw: st.DrawFn) -> bytes:
    """Draws a batch with a correct checksum; its records and its flags may be malformed."""
    body, count = draw(sound_bodies | odd_bodies | markers | markers)
    compression = draw(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5]))
    packed = bytes(writing._PACK[compression](body)) if compression < 5 else body
    head = plain.HEADER.pack(
        draw(st.sampled_from([0, 7, -(2**63), 2**63 - 99])),
        plain.SMALLEST + len(packed),
        draw(st.integers(-1, 3)),
        2,
        0,
        compression | draw(st.sampled_from([0, 0x10, 0x20, 0x30, 0x08])),
        draw(st.sampled_from([9, 9, 9, 9, 9, 0, -1, 2**31 - 1])),
        draw(st.integers(-1, 2**41)),
        draw(st.integers(-1, 2**41)),
        draw(st.integers(-1, 2)),
        draw(st.integers(-1, 2)),
        draw(st.integers(-1, 9)),
        count,
    )
    return writing.signed(head + packed)


@st.composite
def segment_bytes(draw: st.DrawFn) -> bytes:
    """Draws the bytes of a segment; they may be cut, changed in one bit, or followed by junk."""
    old = struct.pack(">qiIbbqii", 3, 22, 0, draw(st.integers(0, 1)), 0, 0, -1, -1)
    data = b"".join(draw(st.lists(one_batch() | st.just(old), max_size=6)))
    data += draw(st.sampled_from([b"", b"", bytes(7), bytes(70), b"\7" * 40]))
    data = data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data
    if data and draw(st.booleans()):
        changed = bytearray(data)
        changed[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
        return bytes(changed)
    return data


def read_fast(path: Path) -> list[Batch | Fragment]:
    segment = Segment(path=path, partition=0, log=0, number=0)
    found: list[Batch | Fragment] = []
    for row in pa.Table.from_batches(segments.batches(segment), segments.BATCHES).to_pylist():
        if row["fault"] in (segments.TORN, segments.JUNK):
            torn = row["fault"] == segments.TORN
            at = {"offset": row["base_offset"], "torn": torn}
            place = {name: row[name] for name in ("position", "size")}
            found.append(Fragment(segment=path.name, **place, **at))
            continue
        held = {name: row[name] for name in ("position", "size", *_ALIKE)}
        found.append(
            Batch(
                segment=path.name,
                fault=plain_faults[row["fault"]],
                transactional=bool(row["attributes"] & segments.TRANSACTIONAL),
                control=bool(row["attributes"] & segments.CONTROL),
                marker=plain.MARKERS[row["marker"]] if row["marker"] >= 0 else "",
                **held,
            )
        )
    return found


plain_faults: Any = ("", "checksum", "records", "old")
_ALIKE = (
    "base_offset",
    "last_offset",
    "leader_epoch",
    "max_timestamp_ms",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "coordinator_epoch",
)


def read_plainly(path: Path) -> list[Batch | Fragment]:
    return list(plain.read(path.name, path.read_bytes()))


def without_records(found: list[Batch | Fragment]) -> list[Batch | Fragment]:
    return [replace(one, records=()) if isinstance(one, Batch) else one for one in found]


def agree(path: Path) -> None:
    said = read_plainly(path)
    assert read_fast(path) == without_records(said)
    batches = [one for one in said if isinstance(one, Batch)]
    segment = Segment(path=path, partition=0, log=0, number=0)
    wanted = [batch.position for batch in batches]
    rows = pa.Table.from_batches(segments.records(segment, wanted), segments.RECORDS).to_pylist()
    held = [(batch.position, record) for batch in batches for record in batch.records]
    assert [(row["position"], row["offset"]) for row in rows] == [
        (position, record.offset) for position, record in held
    ]
    contents = {(row["timestamp_ms"], row["digest"]) for row in rows}
    assert len(contents) == len({record.content for _, record in held})


@quickly
@given(segment_bytes())
def test_the_readers_agree_on_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / segment_name(3)
    path.write_bytes(data)
    agree(path)


@pytest.mark.parametrize(("block_bytes", "unpacked_bytes"), [(1, 1), (200, 1), (1_000, 999)])
def test_the_block_size_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, unpacked_bytes: int
) -> None:
    monkeypatch.setattr(headers, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(segments, "UNPACKED_BYTES", unpacked_bytes)
    outcome = logs(
        "A t-0\n0-9 e0\n10 e0 bad checksum\n11-99 e1\n100 bad old\n101 e1\n102-200 e1 txn p7/0 s0\n"
        "201-300 e1\n301-400 e2\n401 p7/0 commit c3\njunk 300"
    )
    (folder,) = writing.write(outcome, tmp_path, [0, 4])
    agree(folder / "t-0" / segment_name(0))


batch_bodies = st.lists(
    st.tuples(st.one_of(sound_bodies, odd_bodies), st.integers(-1, 9)), min_size=1, max_size=12
)


@quickly
@given(batch_bodies, st.sampled_from([1, 4, 1_000]))
def test_parsing_batches_together_equals_parsing_each(
    monkeypatch: pytest.MonkeyPatch, bodies: list[tuple[tuple[bytes, int], int]], min_batches: int
) -> None:
    monkeypatch.setattr(records, "MIN_BATCHES", min_batches)
    sizes = [len(body) for (body, _), _ in bodies]
    ends: records.Ints = np.cumsum(sizes)
    data = b"".join(body for (body, _), _ in bodies)
    found = records.parsed(
        data,
        ends - np.array(sizes),
        ends,
        np.array([count for (_, count), _ in bodies]),
        np.array([last for _, last in bodies]),
    )
    for number, ((body, count), last) in enumerate(bodies):
        of_batch = np.flatnonzero(found.batch == number)
        try:
            expected = plain.records(body, count, last)
        except plain.Malformed:
            assert found.malformed[number]
            assert not len(of_batch)
            continue
        assert not found.malformed[number]
        said = []
        for n in of_batch.tolist():
            key, value = (
                data[at : at + length] if length >= 0 else None
                for at, length in (
                    (found.key[n], found.key_length[n]),
                    (found.value[n], found.value_length[n]),
                )
            )
            said.append(
                plain.Entry(
                    offset_delta=int(found.offset_delta[n]),
                    timestamp_delta_ms=int(found.timestamp_delta_ms[n]),
                    key=key,
                    value=value,
                    payload=data[found.payload[n] : found.end[n]],
                )
            )
        assert said == expected


@given(
    st.lists(
        st.builds(Record, value=fields, key=fields, timestamp_ms=st.integers(0, 2**41)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(COMPRESSIONS),
)
def test_the_plain_reader_reads_what_the_reference_broker_writes(
    sent: list[Record], compression: Compression
) -> None:
    data = encode(sent, compression=compression)
    (batch,) = plain.read(segment_name(0), data)
    assert isinstance(batch, Batch)
    entries = list(plain.entries(data))
    assert [(e.key, e.value) for e in entries] == [(r.key, r.value) for _, r in decode(data)]
    assert [record.content.split()[0] for record in batch.records] == [
        str(record.timestamp_ms) for record in sent
    ]


def test_raw_and_xerial_snappy_are_decompressed() -> None:
    body = b"records " * 9
    parts = [bytes(cramjam.snappy.compress_raw(part)) for part in (body[:9], body[9:])]
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    framed += b"".join(struct.pack(">i", len(part)) + part for part in parts)
    assert unpacked(2, framed) == unpacked(2, bytes(cramjam.snappy.compress_raw(body))) == body
    for broken in (framed[:-1], framed[:18], framed + b"\0\0\0\7"):
        with pytest.raises(NotPacked):
            unpacked(2, broken)


@pytest.mark.parametrize("story", ["log_dirs_killed", "log_dirs_stopped"])
def test_both_readers_read_the_logs_of_apache_kafka(story: str) -> None:
    dirs = log_dirs([KAFKA / story / f"broker-{number}" for number in (1, 2, 3)])
    kinds: set[int] = set()
    for segment in dirs.segments:
        agree(segment.path)
        for rows in segments.batches(segment):
            kinds |= {attributes & 7 for attributes in rows["attributes"].to_pylist()}
            assert set(rows["fault"].to_pylist()) == {segments.NO_FAULT}
    assert kinds == {0, 1, 2, 3, 4}
