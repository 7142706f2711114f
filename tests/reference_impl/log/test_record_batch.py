"""The codec of record batches: round trips, checksums, assigned offsets, and invalid bytes."""

from __future__ import annotations

import struct
from typing import get_args

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.compression import Compression
from reference_impl.log.consecutive_batches import (
    batches,
    first_header,
    last_header,
    whole_batches,
)
from reference_impl.log.record import Record
from reference_impl.log.record_batch import (
    SEQUENCE_NUMBERS,
    CorruptBatch,
    Header,
    decode,
    encode,
    header,
    stamped,
    verified,
    with_timestamp,
)

timestamps = st.integers(-1, 2**53)
payloads = st.none() | st.binary(max_size=200)
record_lists = st.lists(
    st.builds(
        Record,
        value=payloads,
        key=payloads,
        timestamp_ms=timestamps,
        headers=st.lists(st.tuples(st.text(max_size=8), payloads), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=8,
)
compressions = st.sampled_from(get_args(Compression))
ONE = [Record(value=b"one")]


@settings(deadline=None)
@given(record_lists, compressions, st.integers(0, 2**62))
def test_decoding_returns_the_encoded_records(
    records: list[Record], compression: Compression, base_offset: int
) -> None:
    batch = encode(records, base_offset=Offset(base_offset), compression=compression)

    assert decode(batch) == tuple((base_offset + n, record) for n, record in enumerate(records))


@settings(deadline=None)
@given(
    record_lists,
    st.integers(0, 2**62),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**62),
    st.integers(0, 2**15 - 1),
    st.integers(0, 2**31 - 1),
)
def test_stamping_offset_and_epoch_keeps_the_checksum_valid(
    records: list[Record],
    base_offset: int,
    leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
) -> None:
    sent = encode(
        records,
        producer_id=ProducerId(producer_id),
        producer_epoch=ProducerEpoch(producer_epoch),
        base_sequence=Sequence(base_sequence),
    )
    kept = stamped(sent, base_offset=Offset(base_offset), leader_epoch=LeaderEpoch(leader_epoch))

    head = verified(kept)
    assert (head.base_offset, head.leader_epoch) == (base_offset, leader_epoch)
    assert (head.producer_id, head.producer_epoch) == (producer_id, producer_epoch)
    assert head.next_offset == base_offset + len(records)
    assert head.last_sequence == (base_sequence + len(records) - 1) % SEQUENCE_NUMBERS
    assert head.crc == header(sent).crc
    assert [record for _, record in decode(kept)] == records


@settings(deadline=None)
@given(record_lists, compressions, st.data())
def test_a_changed_bit_after_the_leader_epoch_is_detected(
    records: list[Record], compression: Compression, data: st.DataObject
) -> None:
    batch = encode(records, compression=compression)
    bit = data.draw(st.integers(16 * 8, len(batch) * 8 - 1), label="bit")
    changed = bytearray(batch)
    changed[bit // 8] ^= 1 << bit % 8

    with pytest.raises(CorruptBatch, match=r"^byte (16|17|23): "):
        verified(bytes(changed))


@settings(deadline=None)
@given(st.lists(record_lists, max_size=4))
def test_consecutive_batches_are_split(lists: list[list[Record]]) -> None:
    encoded = [encode(records) for records in lists]

    assert list(batches(b"".join(encoded))) == encoded


@settings(deadline=None)
@given(record_lists, st.data())
def test_a_truncated_batch_is_corrupt_and_names_the_byte(
    records: list[Record], data: st.DataObject
) -> None:
    batch = encode(records)
    cut = batch[: data.draw(st.integers(1, len(batch) - 1), label="cut")]

    with pytest.raises(CorruptBatch, match=r"^byte \d+: "):
        list(batches(cut))
    with pytest.raises(CorruptBatch, match=r"^byte \d+: "):
        header(cut)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_only_corrupt_batch(noise: bytes) -> None:
    with pytest.raises(CorruptBatch):
        decode(noise)


@settings(deadline=None)
@given(st.binary(max_size=100), st.sampled_from(range(5)), st.integers(0, 3))
def test_arbitrary_records_with_a_valid_checksum_are_decoded_or_corrupt(
    noise: bytes, compression: int, record_count: int
) -> None:
    head = struct.pack(
        ">hiqqqhii", compression, max(record_count - 1, 0), 0, 0, -1, -1, -1, record_count
    )
    batch = struct.pack(">qiibI", 0, 49 + len(noise), 0, 2, crc_of(head + noise)) + head + noise

    try:
        outcome = f"{len(decode(batch))} records"
    except CorruptBatch as error:
        outcome = str(error)
    assert outcome == f"{record_count} records" or outcome.startswith("byte ")


def crc_of(data: bytes) -> int:
    """Returns the CRC-32C of the data, computed bit by bit as an oracle."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


@settings(deadline=None)
@given(record_lists)
def test_the_checksum_is_crc_32c_from_the_attributes_on(records: list[Record]) -> None:
    batch = encode(records)

    assert header(batch).crc == crc_of(batch[21:])


@settings(deadline=None)
@given(record_lists)
def test_snappy_in_xerial_frames_is_read(records: list[Record]) -> None:
    plain, packed = encode(records), encode(records, compression="snappy")
    body = plain[61:]
    chunks = [bytes(cramjam.snappy.compress_raw(part)) for part in (body[:7], body[7:])]
    framed = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    framed += b"".join(struct.pack(">i", len(chunk)) + chunk for chunk in chunks)
    signed = packed[21:61] + framed
    batch = struct.pack(">qiibI", 0, 9 + len(signed), -1, 2, crc_of(signed)) + signed

    assert decode(batch) == decode(plain)


def test_flags_and_absent_producers_are_read_from_the_header() -> None:
    marker = header(encode(ONE, control=True, transactional=True, compression="zstd"))
    plain = header(encode(ONE))

    assert (marker.is_control, marker.is_transactional, marker.compression) == (True, True, "zstd")
    assert (plain.is_control, plain.is_transactional, plain.compression) == (False, False, "none")
    assert (plain.producer_id, plain.producer_epoch, plain.last_sequence) == (-1, -1, -1)


@pytest.mark.parametrize("log_append_time", [False, True])
def test_a_changed_timestamp_leaves_the_other_attributes(*, log_append_time: bool) -> None:
    batch = encode([Record(value=b"v", timestamp_ms=5)], transactional=True, compression="gzip")
    changed = with_timestamp(batch, header(batch), 77, log_append_time=log_append_time)
    before, after = header(batch), header(changed)
    assert (after.max_timestamp_ms, after.is_log_append_time) == (77, log_append_time)
    assert (after.is_transactional, after.compression) == (True, "gzip")
    assert (before.max_timestamp_ms, before.is_log_append_time) == (5, False)
    assert verified(changed) == after


def test_the_bytes_have_the_published_format() -> None:
    body = bytes.fromhex("12 00 00 00 01 06 6f 6e 65 00")  # length 9; null key; "one"; no headers
    signed = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + body
    batch = struct.pack(">qiibI", 7, 9 + len(signed), 3, 2, crc_of(signed)) + signed

    assert encode(ONE, base_offset=Offset(7), leader_epoch=LeaderEpoch(3)) == batch


@pytest.mark.parametrize(
    ("batch", "complaint"),
    [
        (b"", r"^byte 0: the header ends after 0 of its 61 bytes$"),
        (
            encode(ONE)[:16] + b"\x01" + encode(ONE)[17:],
            r"^byte 16: magic 1; only version 2 is supported",
        ),
        (encode(ONE) + b"x", r"^byte 8: the header claims 71 bytes, the batch has 72$"),
        (
            encode(ONE)[:23] + b"\xff" * 4 + encode(ONE)[27:],
            r"^byte 23: 1 records over a delta of -1 offsets$",
        ),
        (
            encode(ONE)[:57] + b"\xff" * 4 + encode(ONE)[61:],
            r"^byte 23: -1 records over a delta of 0 offsets$",
        ),
        (encode(ONE)[:-1] + b"x", r"^byte 17: checksum [0-9a-f]{8}, the bytes have [0-9a-f]{8}$"),
    ],
)
def test_an_invalid_batch_is_rejected_with_its_reason(batch: bytes, complaint: str) -> None:
    with pytest.raises(CorruptBatch, match=complaint):
        decode(batch)


def test_a_batch_without_records_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        encode([])


def test_lz4_blocks_do_not_refer_to_each_other_because_kafka_reads_no_others() -> None:
    batch = encode([Record(value=b"x" * 200_000)], compression="lz4")
    flags = batch[61 + 4]  # behind the batch's header and the magic number of lz4
    assert flags & 0x20
    assert decode(batch)[0][1].value == b"x" * 200_000


@given(count=st.integers(1, 4), cut=st.integers(0, 80))
def test_the_last_header_is_that_of_the_last_whole_batch(count: int, cut: int) -> None:
    """`last_header` returns the header of the last complete batch of a fetch response.

    The end of a response may cut a batch off; the cut batch is ignored. If no batch is complete,
    the data is corrupt.
    """
    data = b"".join(encode([Record(value=b"v" * n)] * (n + 1)) for n in range(count))
    data = data[: len(data) - cut]
    whole = [*whole_batches(data)]
    if not whole:
        with pytest.raises(CorruptBatch):
            last_header(data)
    else:
        assert last_header(data) == header(whole[-1])


@given(st.binary(max_size=200), st.integers(0, 200), st.sampled_from([0, 8, 16, 23, 57]))
def test_the_first_header_is_that_of_the_first_whole_batch(
    follows: bytes, kept: int, at: int
) -> None:
    def by_definition(data: bytes) -> Header | None:
        try:
            return next(map(header, whole_batches(data)), None)
        except CorruptBatch:
            return None

    batch = encode([Record(value=b"v" * 20)])
    changed = batch[:at] + follows[:4] + batch[at + len(follows[:4]) :]
    for data in (follows, batch[:kept], batch + follows, changed + follows):
        assert first_header(data) == by_definition(data)
    assert first_header(batch + follows) == header(batch)
