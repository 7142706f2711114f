"""A leader appends batches in the codec of the topic's compression.type (KIP-390)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.compression import COMPRESSIONS, Compression
from reference_impl.log.recompression import is_rebuilt, level_of, rebuilt, target_compression
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode, filter_records, header
from reference_impl.log.validation import scan
from reference_impl.protocol.topic_config import CompressionType, LogConfig

RECORDS = [Record(key=b"k", value=bytes([n]) * 50, timestamp_ms=1_000 + n) for n in range(20)]
TYPES = [*CompressionType]


def stored(data: bytes, config: LogConfig) -> bytes:
    """Returns the bytes of the batch that a leader with these settings appends."""
    head = header(data)
    facts = scan(data, head)
    return rebuilt(data, head, facts, config) if is_rebuilt(head, facts, config) else data


def appended(data: bytes, kind: CompressionType) -> bytes:
    return stored(data, LogConfig(compression_type=kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_batch_is_appended_in_the_codec_of_its_topic(
    compression: Compression, kind: CompressionType
) -> None:
    data = encode(
        RECORDS,
        compression=compression,
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(3),
        base_sequence=Sequence(5),
        transactional=True,
    )
    after = appended(data, kind)
    assert decode(after) == decode(data)
    wanted = {CompressionType.PRODUCER: compression, CompressionType.UNCOMPRESSED: "none"}
    assert header(after).compression == wanted.get(kind, kind.value)
    before, head = header(data), header(after)
    changed = {"length", "crc", "attributes"}
    assert {name for name in before._fields if name not in changed} == {
        name
        for name in before._fields
        if name not in changed and getattr(before, name) == getattr(head, name)
    }
    assert head.is_transactional


@pytest.mark.parametrize("kind", [CompressionType.PRODUCER, CompressionType.GZIP])
def test_a_batch_that_has_the_codec_already_stays_the_same_bytes(kind: CompressionType) -> None:
    data = encode(RECORDS, compression="gzip")
    assert appended(data, kind) == data


def test_the_leader_corrects_the_offset_deltas_only_if_it_compresses_the_batch() -> None:
    """A producer sends an uncompressed batch of two records, both with the offset delta 0.

    The offset deltas become 0 and 1 only if the leader itself compresses the batch.

    Kafka: LogValidator.validateMessagesAndAssignOffsets, which has two paths.
    """
    gaps = filter_records(encode(RECORDS[:2]), [(Offset(n), RECORDS[0]) for n in (0, 0)], None)
    for kind, offsets in (
        (CompressionType.PRODUCER, [0, 0]),
        (CompressionType.UNCOMPRESSED, [0, 0]),
        (CompressionType.ZSTD, [0, 1]),
    ):
        assert [offset for offset, _ in decode(appended(gaps, kind))] == offsets


def test_a_rebuilt_batch_begins_with_the_time_of_its_first_record() -> None:
    """Kafka: MemoryRecordsBuilder.appendWithOffset takes the base timestamp from the first
    record.
    """
    early = filter_records(encode([Record(value=b""), *RECORDS]), list(enumerated()), None)
    assert header(early).base_timestamp_ms == 0
    after = header(appended(early, CompressionType.GZIP))
    assert (after.base_timestamp_ms, after.max_timestamp_ms) == (1_000, 1_019)


def enumerated() -> list[tuple[Offset, Record]]:
    return [(Offset(n), one) for n, one in enumerate(RECORDS)]


@given(st.sampled_from(TYPES), st.integers(1, 9))
def test_the_level_is_that_of_the_own_codec(kind: CompressionType, level: int) -> None:
    config = LogConfig(
        compression_type=kind, gzip_level=level, lz4_level=level + 1, zstd_level=level + 2
    )
    own = {"gzip": level, "lz4": level + 1, "zstd": level + 2}
    for codec in COMPRESSIONS:
        assert level_of(codec, config) == (own.get(codec) if codec == kind.value else None)
    assert target_compression("gzip", config) in COMPRESSIONS


def test_a_higher_level_makes_a_smaller_batch() -> None:
    text = b" ".join(b"%d" % (n * n) for n in range(20_000))
    data = encode([Record(value=text)])
    gzip = CompressionType.GZIP
    small, large = (
        len(stored(data, LogConfig(compression_type=gzip, gzip_level=level))) for level in (9, 1)
    )
    assert small < large < len(data)
    assert len(stored(data, LogConfig(compression_type=gzip))) < large
