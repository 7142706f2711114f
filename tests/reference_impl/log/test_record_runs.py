"""Reading records in runs gives the same facts and errors as reading them one by one.

A run is a series of records whose bytes have the same layout.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference_impl.log import record_runs
from reference_impl.log.record import Record
from reference_impl.log.record_batch import HEADER_SIZE, CorruptBatch, Header, encode, header
from reference_impl.log.record_runs import facts_by_runs
from reference_impl.log.validation import scan, scan_each, scan_quickly
from reference_impl.protocol.record_facts import RecordFacts

NOW_MS = 1_000_000
Scan = Callable[[bytes, Header], RecordFacts]


def result(scan: Scan, head: Header, body: bytes) -> RecordFacts | str:
    """Returns the facts about the batch without those about each record, or the error."""
    try:
        return scan(bytes(HEADER_SIZE) + body, head)._replace(each=None)
    except CorruptBatch as error:
        return f"{type(error).__name__}: {error}"


def batch_of(records: list[Record]) -> tuple[Header, bytes]:
    data = encode(records)
    return header(data), data[HEADER_SIZE:]


def assert_agreement(head: Header, body: bytes) -> None:
    assert result(scan, head, body) == result(scan_each, head, body)


def singles_in(records: list[Record]) -> int:
    """Returns how many records of a batch are read one by one."""
    head, body = batch_of(records)

    def is_enough(most: int) -> bool:
        return facts_by_runs(body, head.record_count, head.base_timestamp_ms, most) is not None

    return bisect_left(range(len(records) + 1), True, key=is_enough)


records = st.builds(
    Record,
    value=st.sampled_from([None, b"", b"v", b"vv", b"v" * 63, b"v" * 64, b"v" * 9000]),
    key=st.sampled_from([None, None, b"", b"k", b"k" * 100]),
    timestamp_ms=st.integers(NOW_MS - 200, NOW_MS + 20_000)
    | st.sampled_from([0, -(2**63), 2**63 - 1]),
    headers=st.sampled_from([(), (("h", b"1"),), (("h", None), ("i", b"22"))]),
)
# Few records, each some times, so that runs begin and end at all places.
rows = st.lists(
    st.tuples(records, st.integers(1, 90), st.sampled_from([0, 1, 1, 7, 100, -3])), max_size=6
).filter(bool)


def repeated(groups: list[tuple[Record, int, int]]) -> list[Record]:
    return [
        Record(
            value=one.value,
            key=one.key,
            headers=one.headers,
            timestamp_ms=max(-(2**63), min(one.timestamp_ms + step * number, 2**63 - 1)),
        )
        for one, times, step in groups
        for number in range(times)
    ]


@settings(max_examples=100)
@given(rows)
def test_valid_records_have_the_facts_of_the_definition(
    groups: list[tuple[Record, int, int]],
) -> None:
    assert_agreement(*batch_of(repeated(groups)))


@settings(max_examples=200)
@given(rows, st.data())
def test_a_changed_byte_has_the_outcome_of_the_definition(
    groups: list[tuple[Record, int, int]], data: st.DataObject
) -> None:
    head, body = batch_of(repeated(groups))
    at = data.draw(st.integers(0, min(len(body), 4000) - 1))
    byte = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    count = head.record_count + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    kept = data.draw(st.sampled_from([len(body), len(body), len(body) - 1, len(body) // 2]))
    changed = (body[:at] + bytes([byte]) + body[at + 1 :])[:kept]
    assert_agreement(head._replace(record_count=count), changed)


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=12), max_size=6), st.integers(1, 40), st.integers(0, 300))
@example([b"\x0c\x00\x00\x00\x01\x00\x00"], 40, 40)  # each record has the offset delta 0
def test_any_bytes_have_the_outcome_of_the_definition(
    parts: list[bytes], times: int, count: int
) -> None:
    head, _ = batch_of([Record(value=b"v", timestamp_ms=NOW_MS)])
    head = head._replace(record_count=count)
    assert_agreement(head, b"".join(part * times for part in parts))


@pytest.mark.parametrize("step_ms", [0, 1, 100, -1, -100, 5_000])
def test_a_long_run_has_the_facts_of_the_definition(step_ms: int) -> None:
    """A run of 9,000 records has the same facts as its records, read one by one.

    The offset deltas have one to three bytes, the timestamp deltas one to four.
    """
    many = [Record(value=b"v", timestamp_ms=NOW_MS + step_ms * at) for at in range(9_000)]

    assert_agreement(*batch_of(many))
    # The first records, and some wherever a number gets one more byte.
    assert singles_in(many) < 80


def test_records_with_lengths_of_their_own_are_read_one_by_one() -> None:
    lengths = [Record(value=b"v" * (at * 37 % 61), timestamp_ms=NOW_MS) for at in range(200)]

    assert singles_in(lengths) > 190
    assert_agreement(*batch_of(lengths))


def test_a_scan_gives_up_where_too_much_work_is_left() -> None:
    like = encode([Record(value=b"v", timestamp_ms=NOW_MS)] * 500)
    unlike = encode([Record(value=b"v" * (at * 37 % 61)) for at in range(500)])

    assert scan_quickly(like, header(like), 10_000, 100) == RecordFacts(NOW_MS, True, True)
    assert scan_quickly(like, header(like), 1_000, 100) is None
    assert scan_quickly(unlike, header(unlike), 100_000, 100) is None
    assert scan_quickly(like[:-1] + b"\x02", header(like), 10_000, 100) is None


@pytest.mark.parametrize(
    ("comparison", "wrong"),
    [
        ("_equal", lambda column, expected: len(column)),
        ("_largest", lambda columns: 0),
        ("_offset_columns", lambda number, count: (bytes([2 * number]) * count,)),
    ],
)
def test_a_wrong_comparison_of_columns_is_noticed(
    comparison: str, wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, body = batch_of([Record(value=b"v", timestamp_ms=NOW_MS + at) for at in range(60)])
    same_offset = body[:32] + body[24:32] * 56
    monkeypatch.setattr(record_runs, comparison, wrong)

    with pytest.raises(AssertionError):
        assert_agreement(head, body if comparison == "_largest" else same_offset)
