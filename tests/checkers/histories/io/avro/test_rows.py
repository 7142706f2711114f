"""A history in Avro is read as its rows; each malformed schema or file causes one clear error."""

from __future__ import annotations

import copy
import io
import json
import random
import resource
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from checkers.histories.io.avro import containers, rows
from checkers.histories.io.avro.containers import CODECS, MAGIC
from checkers.histories.io.checking import check
from checkers.histories.io.converting import convert
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.histories import NEW_IN_2
from model.history_notation import history
from tests.checkers.histories.io.avro.avro_histories import block, header, in_avro, long
from tools.history_format import avro_schema

TABLE = as_table(
    history("""
        p1 txn{id=ü} k=a k=b -> ok @0 @1
        p2 poll              -> ok k=a@0 k=b@1
        p2 poll              -> ok
    """)
)
MEBIBYTE = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "h.avro"


def refused(path: Path) -> str:
    with pytest.raises(UnreadableHistory) as fault:
        whole(path)
    text = str(fault.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text.removeprefix(str(path))


def with_type(column: str, of_field: object, **extra: object) -> dict[str, Any]:
    """Returns the schema of a history, with another type of one field."""
    schema = copy.deepcopy(avro_schema())
    (field,) = (field for field in schema["fields"] if field["name"] == column)
    field.update({"type": of_field, **extra})
    return schema


# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize("codec", [codec.decode() for codec in CODECS])
def test_every_codec_and_size_of_blocks_yields_the_same_rows(codec: str, path: Path) -> None:
    for size in (1, 100, 16_000):
        path.write_bytes(in_avro(TABLE, codec, size=size))
        assert whole(path).equals(TABLE)


def test_rows_are_read_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(in_avro(TABLE, size=1))
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 2)
    assert [table.num_rows for table in rows.tables(path)] == [2, 2, 1]
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 1_000)
    monkeypatch.setattr(rows, "MAX_BLOCK", 1)
    assert [table.num_rows for table in rows.tables(path)] == [1] * 5


def test_wider_and_narrower_types_are_read(path: Path) -> None:
    kinds = {"type": "enum", "name": "kind", "symbols": ["send", "poll", "none"]}
    text = {"type": "string", "avro.java.string": "String"}
    for schema in (
        with_type("position", "long"),
        with_type("op", ["null", "int", "long"]),
        with_type("kind", kinds),
        with_type("key", [text, "null"]),
        {**avro_schema(), "fields": avro_schema()["fields"][::-1]},
    ):
        path.write_bytes(in_avro(TABLE, schema=schema))
        assert whole(path).equals(TABLE)


def test_a_history_of_the_first_version_is_read(path: Path) -> None:
    schema = avro_schema()
    schema["fields"] = [field for field in schema["fields"] if field["name"] not in NEW_IN_2]
    path.write_bytes(in_avro(TABLE, schema=schema))
    old = whole(path)
    assert old["value"].equals(TABLE["value"])
    assert old["transactional_id"].null_count == old.num_rows


def test_an_unknown_field_of_any_type_is_refused_or_left_out_and_counted(
    path: Path, tmp_path: Path
) -> None:
    tags = {"type": "array", "items": {"type": "map", "values": ["null", "double"]}}
    point = {"type": "record", "name": "p", "fields": [{"name": "tags", "type": tags}]}
    schema = avro_schema()
    schema["fields"] += [
        {"name": "ofset", "type": ["null", point]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ]
    found = [{**row, "ofset": None, "at": 5} for row in TABLE.to_pylist()]
    found[0]["ofset"] = {"tags": [{"a": 1.5}, {}]}
    file = io.BytesIO()
    fastavro.writer(file, schema, found)
    path.write_bytes(file.getvalue())
    assert refused(path) == (
        ": a history has no column ofset; if you mean offset, rename it; else delete it"
    )
    converted = convert(path, tmp_path / "out")
    assert converted.unmapped == {"column ofset": 1, "column at": 5}
    assert whole(tmp_path / "out").equals(TABLE)


def test_the_check_names_file_and_row(path: Path) -> None:
    path.write_bytes(in_avro(TABLE))
    checked = check(path)
    assert (checked.operations, checked.by_kind) == (3, Counter(send=2, poll=2, none=1))
    odd = TABLE.to_pylist()
    odd[2]["outcome"] = "good"
    path.write_bytes(in_avro(TABLE.from_pylist(odd, TABLE.schema)))
    (broken,) = check(path).broken
    assert broken.startswith(f"{path}, row 3: column outcome is none of ok, fail, info; ")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (with_type("op", "double"), "column op has the Avro type double instead of int or long"),
        (with_type("key", ["null", "bytes"]), "column key has the Avro type null or bytes instead"),
        (with_type("value", ["int", "string"]), "the Avro type int or string instead of string or"),
        (
            with_type("key", "row"),
            "refers to the type 'row', and Urteil reads no references",
        ),
        (with_type("key", "string", name="op"), "the field 'op' twice; rename one"),
        (with_type("op", "long", name="no"), "a history has no column no; delete it"),
        (with_type("op", {"type": "array", "items": "null"}), "an array whose items take no bytes"),
        (with_type("op", []), "not an Avro schema: []; write the history with another schema"),
        (with_type("op", {"type": "enum", "symbols": ["-"]}), "not an Avro schema: "),
        (with_type("op", {"type": "fixed", "size": -1}), "not an Avro schema: {'type': 'fixed'"),
        (with_type("op", {"type": "fixed", "size": True}), "not an Avro schema: {'type': 'fixed'"),
        (with_type("op", {"type": "fixed", "size": False}), "not an Avro schema: {'type': 'fixed'"),
        ({"type": "record", "fields": [3]}, "not a field of an Avro record: 3; write"),
        ({"type": "record", "fields": []}, "its records take no bytes; write a schema with a col"),
        ({"type": "map", "values": "long"}, "its Avro schema is no record; write a record whose"),
        (json.loads('{"type":' * 60 + '"long"' + "}" * 60), "nested more than 50 deep; write"),
    ],
)
def test_a_schema_that_is_no_history_is_refused(schema: Any, why: str, path: Path) -> None:
    path.write_bytes(header(json.dumps(schema).encode()))
    assert why in refused(path)


SCHEMA = json.dumps(avro_schema()).encode()


def one_row() -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, avro_schema(), TABLE.slice(0, 1).to_pylist()[0])
    return file.getvalue()


def hostile() -> Iterator[tuple[bytes, str]]:
    row = one_row()
    yield b"Obj\x02", ": this is no Avro container file: it does not begin with Obj; copy or record"
    yield MAGIC + long(1) + long(2**40), ": the header is damaged, or has more than 16 MiB; copy"
    yield header(b"[" * 10_000), ": its Avro schema is no JSON (maximum recursion depth"
    yield header(b"\xff"), ": its Avro schema is no JSON ('utf-8' codec"
    yield header(SCHEMA, b"lzo"), ": the codec is 'lzo'; write it with one of null, deflate, snappy"
    whole_file = header(SCHEMA)
    yield whole_file + block(row, size=2**40), ": block 1 declares 1,099,511,627,776 bytes, and 64"
    yield whole_file + block(row, size=-1), ": block 1 declares 1 rows of -1 bytes"
    yield whole_file + block(row) + b"\x02", ": block 2 is cut short; copy or record it again"
    yield whole_file + block(row) + block(row)[:-1], ": block 2 is cut short; copy or record it"
    yield whole_file + block(row, marker=b"x" * 16), ": block 1 does not end with the marker of"
    yield whole_file + block(row, 2**60), ", row 2: the bytes are no record of the schema (E"
    yield whole_file + block(row + b"x"), ", row 1: the block has more bytes than its rows"
    yield whole_file + block(row[:2] + long(2**50) + row[3:]), ", row 1: the bytes are no record"
    yield whole_file + block(row[:2] + long(-5) + row[3:]), ", row 1: the bytes are no record of"
    yield whole_file + block(row.replace(b"txn", b"\xfftx")), ", row 1: the bytes are no record"
    for codec in sorted(set(CODECS) - {b"null"}):
        odd = header(SCHEMA, codec) + block(b"nonsense")
        yield odd, ": block 1 cannot be decompressed ("


HOSTILE = list(hostile())


@pytest.mark.parametrize(("content", "why"), HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_refused_with_its_place(content: bytes, why: str, path: Path) -> None:
    path.write_bytes(content)
    assert refused(path).startswith(why)


@pytest.mark.parametrize("codec", sorted({*CODECS} - {b"null"}))
def test_a_block_that_grows_beyond_the_limit_is_refused(
    codec: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_text = TABLE.set_column(10, "value", pa.array(["0" * 3 * MEBIBYTE] * TABLE.num_rows))
    path.write_bytes(in_avro(long_text, codec.decode()))
    assert whole(path).equals(long_text)
    monkeypatch.setattr(containers, "MAX_BLOCK", MEBIBYTE)
    assert ": block 1 cannot be decompressed (" in refused(path)


def test_a_block_of_half_a_gigabyte_is_refused_in_little_memory(path: Path) -> None:
    packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    data = b"".join(packer.compress(bytes(MEBIBYTE)) for _ in range(512)) + packer.flush()
    path.write_bytes(header(SCHEMA, b"deflate") + block(data))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "(more than 64 MiB after decompression)" in refused(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024


def test_a_number_of_more_than_32_bits_is_refused_with_its_row(path: Path) -> None:
    odd = TABLE.to_pylist()
    odd[3]["position"] = 2**31
    file = io.BytesIO()
    fastavro.writer(file, with_type("position", "long"), odd)
    path.write_bytes(file.getvalue())
    assert refused(path) == (
        ", row 4: column position is 2147483648, more than 32 bits; fix that value"
    )


def changed_in_a_block(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    at = content.index(content[-16:]) + 16
    return content[:at] + change(content[at:])


def test_damaged_rows_are_refused_or_read_but_never_a_crash(path: Path) -> None:
    """The header stays whole, so that the damage reaches the decoding of rows."""
    rng = random.Random(1)
    content = in_avro(TABLE)
    outcome: Counter[str] = Counter()

    def damaged(rows_of_file: bytes) -> bytes:
        some = bytearray(rows_of_file)
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(some) - 16)
            some[at : at + rng.choice((0, 1, 2))] = rng.choice(
                (b"", rng.randbytes(1), long(2**62), long(-(2**62)), long(2**20))
            )
        return bytes(some)

    for _ in range(250):
        path.write_bytes(changed_in_a_block(content, damaged))
        try:
            whole(path)
            outcome["read"] += 1
        except UnreadableHistory:
            outcome["refused"] += 1
    assert min(outcome["read"], outcome["refused"]) >= 10
