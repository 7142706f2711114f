"""Feeds the bytes of a fuzzer to the decoders of request frames and of record batches.

The first byte of an input selects the decoder. The remaining bytes are decoded.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

from benchmarks.hostile_frames.requests import request, versions
from reference_impl.log.compression import COMPRESSIONS
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode as decode_batch
from reference_impl.log.record_batch import encode, sealed
from reference_impl.partition.record_validation import appendable, batch_error, only_batch, scanned
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG
from reference_impl.wire.messages.adapter import MalformedFrame, UnsupportedApiVersions, decode
from reference_impl.wire.messages.versions import VERSIONS

FRAME, BATCH = 0, 1


def run(data: bytes) -> None:
    """Decodes the bytes. Any exception of this function is a defect of the decoders."""
    if not data:
        return
    if data[0] % 2 == FRAME:
        frame(data[1:])
    else:
        batch(data[1:])


def frame(data: bytes) -> None:
    with contextlib.suppress(MalformedFrame, UnsupportedApiVersions):
        decode(data)


def batch(data: bytes) -> None:
    """Validates the bytes as a leader does before an append.

    Asserts that an accepted batch can be decoded, and that it has as many records as its header
    states.
    """
    found = only_batch(sealed(data) if len(data) >= 61 else data)
    if isinstance(found, ErrorCode):
        return
    facts = scanned(found) if found.header.has_known_compression else ErrorCode.INVALID_RECORD
    if batch_error(found, facts, DEFAULT_LOG_CONFIG, now_ms=0).error is ErrorCode.NONE:
        assert isinstance(facts, RecordFacts)
        kept = appendable(found, facts, DEFAULT_LOG_CONFIG)
        assert kept is None or len(decode_batch(kept)) == found.header.record_count


def valid_inputs() -> Iterator[bytes]:
    """Yields a request of each API and version, and a record batch of each compression codec."""
    yield from frames(random.Random(1))
    yield from batches()


def frames(rng: random.Random) -> Iterator[bytes]:
    """Yields a valid request frame for each API and version."""
    for api in VERSIONS:
        for version in versions(api):
            yield bytes([FRAME]) + request(api, version, rng).data


def batches() -> Iterator[bytes]:
    """Yields a valid record batch for each compression codec."""
    records = [Record(value=b"v", key=b"k", headers=(("h", b"x"),))] * 2
    for compression in COMPRESSIONS:
        yield bytes([BATCH]) + encode(records, compression=compression)
