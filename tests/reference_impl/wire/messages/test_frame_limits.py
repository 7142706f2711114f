"""The limits of a frame are checked before kio decodes it, for every request and version."""

from __future__ import annotations

import contextlib
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader

from benchmarks.hostile_frames.requests import damaged, noise, request, versions
from reference_impl.wire.messages import adapter, field_types, frame_limits
from reference_impl.wire.messages.adapter import MalformedFrame, decode, request_kind
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.frame_limits import LIMITS, FrameLimits, FrameRefused, check
from reference_impl.wire.messages.versions import VERSIONS

ALL = [(api, version) for api in VERSIONS for version in versions(api)]
SIZES = st.integers(0, 2**32 - 1)


def empty_names(count: int) -> bytes:
    """Returns a Metadata request of version 1 for `count` topics with empty names."""
    return struct.pack(">hhihi", Api.METADATA, 1, 1, -1, count) + b"\0\0" * count


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        # kio allocates 71 GB for the first frame, and the process aborts.
        ("0003000c00000001000362616400ffffffff0f" + "00" * 20, "4294967294 elements are declared"),
        ("000300010000000100007fffffff" + "00" * 20, "2147483647 elements are declared"),
        ("0003000100000001ffff00000001" + "7fff", "32767 bytes are declared, 0 are left"),
        ("0003000c00000001000000ffffffffff", "a varint has more than 5 bytes"),
        ("0003000c00000001000000010000ffff7f", "2097151 elements are declared"),  # tagged fields
        ("0003000c0000000100000001", "ends 2 bytes too early|inside a field"),
    ],
)
def test_a_declared_size_is_at_most_the_rest_of_the_frame(frame: str, complaint: str) -> None:
    """A length or a count that exceeds the rest of the frame is refused, so the connection ends.

    Kafka: the `read` methods of the generated messages throw a RuntimeException. Then
    Processor.processCompletedReceives closes the connection.
    """
    with pytest.raises(MalformedFrame, match=complaint):
        decode(bytes.fromhex(frame))


def test_a_frame_has_a_limited_number_of_elements() -> None:
    assert len(decode(empty_names(LIMITS.elements)).body.topics) == LIMITS.elements
    with pytest.raises(MalformedFrame, match=f"more than {LIMITS.elements} elements in a frame"):
        decode(empty_names(LIMITS.elements + 1))


def test_nested_elements_count_too() -> None:
    """Two topics with three partitions each are eight elements."""
    topic = struct.pack(">hi", 0, 3) + bytes(3 * 16)  # each: number, offset, bytes
    frame = struct.pack(">hhihiiii", Api.FETCH, 4, 1, -1, -1, 0, 0, 0) + b"\0"
    frame += struct.pack(">i", 2) + topic * 2
    assert len(decode(frame, FrameLimits(elements=8)).body.topics) == 2
    with pytest.raises(MalformedFrame, match="more than 7 elements"):
        decode(frame, FrameLimits(elements=7))


# ---------------------------------------------------------------- against kio


def accepted(api: Api, version: int, frame: bytes) -> int | None:
    """Returns the position at which the scan of a frame ends, or None if the scan refuses it."""
    kind = request_kind(api, version)
    try:
        return check(kind, frame, check(kind.__header_schema__, frame, 0))
    except FrameRefused:
        return None


def decoded(api: Api, version: int, frame: bytes) -> int | None:
    """Returns the position after the last byte that kio reads; None if kio raises."""
    kind = request_kind(api, version)
    try:
        _, at = entity_reader(kind.__header_schema__)(frame, 0)
        return at + entity_reader(kind)(frame, at)[1]
    except Exception:
        return None


@pytest.mark.parametrize(("api", "version"), ALL, ids=lambda one: getattr(one, "name", str(one)))
def test_the_scan_reads_every_request_as_kio_does(api: Api, version: int) -> None:
    """The check of a frame's limits reads each valid request to its end, as kio does.

    A damaged request fails in the check or in kio, or both end at the same byte.
    """
    rng = random.Random(f"{api} {version}")
    for _ in range(8):
        frame = request(api, version, rng).data
        assert accepted(api, version, frame) == decoded(api, version, frame) == len(frame)
        for _ in range(8):
            broken = damaged(frame, rng)
            end = accepted(api, version, broken)
            if end is not None:
                assert decoded(api, version, broken) in (None, end)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ALL), st.randoms(use_true_random=False))
def test_kio_never_reads_further_than_the_scan(one: tuple[Api, int], rng: random.Random) -> None:
    frame = rng.choice((noise(rng), damaged(request(*one, rng).data, rng)))
    key, version = struct.unpack_from(">hh", frame)
    end = accepted(Api(key), version, frame)
    if end is not None:
        assert decoded(Api(key), version, frame) in (None, end)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_random_bytes_are_a_request_or_malformed(data: bytes) -> None:
    with contextlib.suppress(MalformedFrame, adapter.UnsupportedApiVersions):
        decode(data)


def test_a_scan_that_reads_too_little_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test that compares the scan with kio fails if the scan reads only two bytes of an
    int32.
    """
    monkeypatch.setitem(field_types.SIZES, "int32", 2)
    frame_limits._entity.cache_clear()
    try:
        with pytest.raises(AssertionError):
            test_the_scan_reads_every_request_as_kio_does(Api.FETCH, 12)
    finally:
        monkeypatch.undo()
        frame_limits._entity.cache_clear()
