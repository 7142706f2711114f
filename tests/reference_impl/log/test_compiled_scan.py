"""The C code that reads records returns the same facts and errors as Python, for any bytes."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.cli.broker import read_records_in_c
from checkers.compiler import library
from reference_impl.log import compiled_scan
from reference_impl.log.compiled_scan import facts_compiled
from reference_impl.log.record import Record
from reference_impl.log.record_batch import HEADER_SIZE, CorruptBatch, Header, encode, header
from reference_impl.log.validation import scan, scan_each, scan_quickly
from reference_impl.protocol.messages import NO_TIMESTAMP
from reference_impl.protocol.record_facts import RecordFacts

NOW_MS = 1_000_000
MALFORMED = "malformed"


def use(source: str) -> None:
    compiled_scan.use(library({compiled_scan.SOURCE: source}, compiled_scan.SOURCE))


def use_file(file: Path) -> None:
    compiled_scan.use(ctypes.CDLL(str(file)))


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Generator[None]:
    use(compiled_scan.source())
    yield
    compiled_scan._libraries.clear()


@pytest.fixture
def _other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_scan, "_libraries", [])


def batch_of(records: list[Record]) -> tuple[Header, bytes]:
    data = encode(records)
    return header(data), data[HEADER_SIZE:]


def by_definition(head: Header, body: bytes) -> RecordFacts | str:
    try:
        return scan_each(bytes(HEADER_SIZE) + body, head)._replace(each=None)
    except CorruptBatch:
        return MALFORMED


def assert_agreement(head: Header, body: bytes) -> None:
    if not 0 <= head.record_count <= len(body):
        return  # refused before any record is read
    found = facts_compiled(body, head.record_count, head.base_timestamp_ms)
    assert (found or MALFORMED) == by_definition(head, body)


def assert_agreements(batches: list[tuple[Header, bytes]]) -> None:
    for head, body in batches:
        assert_agreement(head, body)


lengths = st.sampled_from([0, 1, 2, 62, 63, 64, 9_000])
values = st.none() | st.builds(bytes, lengths)
records = st.lists(
    st.builds(
        Record,
        value=values,
        key=values,
        timestamp_ms=st.integers(NOW_MS - 200, NOW_MS + 20_000)
        | st.sampled_from([0, -(2**63), 2**63 - 1]),
        headers=st.sampled_from([(), (("h", b"1"),), (("h", None), ("i", b"22"))]),
    ),
    min_size=1,
    max_size=100,
)


@settings(max_examples=100)
@given(records)
def test_valid_records_have_the_facts_of_the_definition(some: list[Record]) -> None:
    head, body = batch_of(some)

    assert_agreement(head, body)
    assert facts_compiled(body, len(some), head.base_timestamp_ms) is not None


@settings(max_examples=300)
@given(records, st.data())
def test_a_changed_byte_has_the_outcome_of_the_definition(
    some: list[Record], data: st.DataObject
) -> None:
    head, body = batch_of(some)
    at = data.draw(st.integers(0, min(len(body), 4000) - 1))
    byte = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF]) | st.integers(0, 255))
    count = head.record_count + data.draw(st.sampled_from([0, 0, 0, 1, -1]))
    kept = data.draw(st.sampled_from([len(body), len(body), len(body) - 1, len(body) // 2]))
    changed = (body[:at] + bytes([byte]) + body[at + 1 :])[:kept]
    assert_agreement(head._replace(record_count=count), changed)


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=12), max_size=6), st.integers(1, 40), st.integers(0, 300))
@example([b"\x0c\x00\x00\x00\x01\x00\x00"], 40, 40)  # each record has the offset delta 0
@example([b"\x14\x00" + b"\x80" * 9 + b"\x7f" + b"\x00\x01\x01\x00"], 1, 1)  # ten bytes of time
@example([b"\x0c\x00\x00\x00\xfe\xff\xff\xff\x0f\x00\x00"], 1, 1)  # the longest key
def test_any_bytes_have_the_outcome_of_the_definition(
    parts: list[bytes], times: int, count: int
) -> None:
    head, _ = batch_of([Record(value=b"v", timestamp_ms=NOW_MS)])
    assert_agreement(head._replace(record_count=count), b"".join(part * times for part in parts))


def test_no_record_has_no_timestamp() -> None:
    assert facts_compiled(b"", 0, NOW_MS) == RecordFacts(NO_TIMESTAMP, False, True)


def test_a_scan_reads_in_c_and_raises_the_errors_of_the_definition() -> None:
    valid = encode([Record(value=b"v" * (at % 61), timestamp_ms=NOW_MS) for at in range(500)])

    assert scan(valid, header(valid)) == RecordFacts(NOW_MS, True, True)  # nothing of each record
    with pytest.raises(CorruptBatch, match="record 499: it claims 18 bytes, but only 17 are left"):
        scan(valid[:-1], header(valid))


def test_a_quick_scan_gives_up_where_too_much_work_is_left() -> None:
    valid = encode([Record(value=b"v", timestamp_ms=NOW_MS)] * 500)

    assert scan_quickly(valid, header(valid), 10_000, 100) == RecordFacts(NOW_MS, True, True)
    assert scan_quickly(valid, header(valid), 1_000, 100) is None
    assert scan_quickly(valid[:-1] + b"\x02", header(valid), 10_000, 100) is None


@pytest.mark.parametrize(
    ("correct", "wrong"),
    [
        ("time_ms > facts", "time_ms < facts"),
        ("key_length < 0;", "key_length <= 0;"),
        ("offset_delta == number", "1"),
        ("reader.at != end", "0"),
        ("varint(reader, 10)", "varint(reader, 5)"),
        ("count < 0", "0"),
    ],
)
@pytest.mark.usefixtures("_other_library")
def test_a_wrong_comparison_is_noticed(correct: str, wrong: str) -> None:
    source = compiled_scan.source()
    assert source.count(correct) == 1
    use(source.replace(correct, wrong))
    many = [Record(value=b"v", key=b"", timestamp_ms=NOW_MS + at) for at in range(5)]
    head, body = batch_of([*many, Record(value=b"v", key=b"", timestamp_ms=NOW_MS + 2**40)])
    same_offset = body[:8] * 6
    shorter = b"\x0c" + body[1:]  # than its fields
    one_record = head._replace(record_count=1)
    minus_one_header = b"\x0c\x00\x00\x00\x01\x00\x01"

    bodies = (body, same_offset, shorter)

    with pytest.raises(AssertionError):
        assert_agreements([*((head, one) for one in bodies), (one_record, minus_one_header)])


# The records end where readable memory ends: one byte further on, the process dies.
AT_THE_END = """
import ctypes, mmap, random, sys
from pathlib import Path
from checkers.compiler import library
from reference_impl.log import compiled_scan
from reference_impl.log.record import Record
from reference_impl.log.record_batch import HEADER_SIZE, encode

page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page), page, 0) == 0
source = compiled_scan.source().replace(*sys.argv[1:]) if sys.argv[1:] else compiled_scan.source()
code = library({"scan.c": source}, "scan.c")
code.scan_records.argtypes = [ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]
rng = random.Random(1)
valid = encode([Record(value=b"v" * 9, key=b"k", headers=(("h", b"x"),))] * 20)[HEADER_SIZE:]
facts = ctypes.create_string_buffer(16)
for _ in range(20_000):
    changed = bytearray(valid[: rng.randrange(len(valid))])
    for _ in range(rng.randrange(4)):
        changed[rng.randrange(len(changed) or 1) :][:1] = bytes([rng.choice((0, 1, 0x80, 0xFF))])
    memory[page - len(changed) : page] = bytes(changed)
    code.scan_records(start + page - len(changed), len(changed), rng.randrange(30), 0, facts)
"""


def test_no_byte_outside_of_the_records_is_read() -> None:
    ended = subprocess.run([sys.executable, "-c", AT_THE_END], check=False)
    assert ended.returncode == 0

    fault = ["reader->at >= reader->size", "0"]
    ended = subprocess.run([sys.executable, "-c", AT_THE_END, *fault], check=False)
    assert -ended.returncode in {signal.SIGSEGV, signal.SIGBUS}


@pytest.mark.usefixtures("_other_library")
def test_the_served_broker_reads_in_c() -> None:
    notes: list[str] = []
    read_records_in_c(use_file, notes.append)

    assert facts_compiled(b"", 0, NOW_MS) is not None
    assert notes == []


@pytest.mark.usefixtures("_other_library")
def test_without_a_compiler_python_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setenv("URTEIL_CC", "no-such-compiler")
    read_records_in_c(use_file, notes.append)
    batch = encode([Record(value=b"v", timestamp_ms=NOW_MS)] * 500)

    assert notes == [
        "Python reads the records of large batches, which is slow: "
        "URTEIL_CC names no-such-compiler, which is not installed"
    ]
    assert facts_compiled(b"", 0, NOW_MS) is None
    assert scan(batch, header(batch)) == scan_each(batch, header(batch))
    assert scan_quickly(batch, header(batch), 10_000, 500) == scan_each(batch, header(batch))
    assert scan_quickly(batch, header(batch), 10_000, 499) is None
