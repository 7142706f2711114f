"""A history that is cut short, changed or hostile is refused with one short line."""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.demo import __file__ as demo
from checkers.histories.analysis import analyze
from checkers.histories.io import reading
from checkers.histories.io.faults import faults
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import METADATA, operations, tail_path
from checkers.histories.io.unreadable import UnreadableHistory
from tests.checkers.histories.io.avro.avro_histories import in_avro

DEMO = Path(demo).with_name("three-anomalies.edn")
MEGABYTE = 1_000_000
LONG = 100 * MEGABYTE


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return reading.whole(DEMO)


def in_format(ending: str, rows: pa.Table, folder: Path) -> bytes:
    """Returns a small history in a format, as bytes."""
    path = folder / f"whole{ending}"
    if ending == ".edn":
        return b"".join(DEMO.read_bytes().splitlines(keepends=True)[:10])
    if ending == ".ndjson":
        given = ({k: v for k, v in row.items() if v is not None} for row in rows.to_pylist()[:8])
        return b"".join(json.dumps(row).encode() + b"\n" for row in given)
    if ending == ".avro":
        return in_avro(rows.slice(0, 8), "deflate")
    write_part(rows, path)
    return path.read_bytes()


def refused(path: Path, *, analysed: bool = False) -> str:
    """Returns why the history is refused, or "" if it can be read. Any other error fails the
    test.
    """
    try:
        if analysed:
            analyze(path)
        else:
            reading.whole(path)
    except UnreadableHistory as fault:
        message = str(fault)
        assert message.startswith(str(path))
        assert len(message) < len(str(path)) + 800, "an error is short"
        return message
    return ""


@pytest.mark.parametrize("ending", [".avro", ".edn", ".ndjson", ".parquet"])
def test_a_history_cut_short_at_any_byte_is_refused_or_reads_as_its_beginning(
    ending: str, rows: pa.Table, tmp_path: Path
) -> None:
    whole, path = in_format(ending, rows, tmp_path), tmp_path / f"cut{ending}"
    step = 7 if ending == ".parquet" else 1  # Arrow takes a millisecond for each
    for length in range(0, len(whole), step):
        path.write_bytes(whole[:length])
        if not refused(path):
            assert ending != ".parquet"
            assert reading.whole(path).num_rows <= rows.num_rows


@pytest.mark.parametrize("ending", [".avro", ".edn", ".ndjson", ".parquet"])
@pytest.mark.parametrize("analysed", [False, True])
def test_changed_bytes_are_refused_or_read(
    ending: str, analysed: bool, rows: pa.Table, tmp_path: Path
) -> None:
    rng = random.Random(f"{ending} {analysed}")
    whole, path = in_format(ending, rows, tmp_path), tmp_path / f"changed{ending}"
    for _ in range(20 if analysed else 300):
        changed = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 4))):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        refused(path, analysed=analysed)


def test_a_tail_cut_short_at_any_byte_loses_its_last_line_alone(tmp_path: Path) -> None:
    tmp_path.joinpath(METADATA).write_text('{"schema_version": 2}')
    invoked = b'{"invoked":%d,"process":%d,"f":"send","at_ns":1,"did":[["send","k",null,"v"]]}\n'
    completed = (
        b'{"completed":0,"outcome":"ok","at_ns":2,"did":[["send","k",0,"v"]],"error":null}\n'
    )
    whole = invoked % (0, 0) + completed + invoked % (1, 1)
    for length in range(len(whole)):
        tail_path(tmp_path, 0).write_bytes(whole[:length])
        lines = whole[:length].count(b"\n")
        assert [one.outcome for one in operations(tmp_path)] == [[], ["info"], ["ok"]][lines]


def long_lines() -> Iterator[tuple[str, str, list[bytes], str]]:
    middle = [b"x" * MEGABYTE] * 100
    yield "a number", ".ndjson", [b'{"op":"', *middle, b'"}'], "more than 16 MiB"
    yield "unclosed", ".ndjson", [b'{"value":"', *middle], "more than 16 MiB"
    some = middle[:30]  # more take seconds
    yield "unclosed EDN", ".edn", [b'{:value "', *some], "line 1, column 9: the string is never"
    yield "an EDN atom", ".edn", [b"{:type ", *some, b"}"], "line 1: :type is xxx"


@pytest.mark.parametrize(
    ("ending", "parts", "why"),
    [pytest.param(*case[1:], id=case[0]) for case in long_lines()],
)
def test_a_line_of_many_megabytes_is_refused_with_its_place_in_little_memory(
    ending: str, parts: list[bytes], why: str, tmp_path: Path
) -> None:
    path = tmp_path / f"long{ending}"
    with path.open("wb") as file:
        file.writelines(parts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert why in refused(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * LONG // 1024


@pytest.mark.parametrize(
    ("ending", "content", "why"),
    [
        (".ndjson", b'{"op":' + b"[" * MEGABYTE, "line 1: maximum recursion depth"),
        (".ndjson", b'{"op":' + b"9" * MEGABYTE + b"}", "line 1: Exceeds the limit"),
        (".ndjson", b'{"' + b"k" * MEGABYTE + b'":1}', "a history has no column kkk"),
        (".ndjson", b'{"op":"' + b"k" * MEGABYTE + b'"}', "line 1: column op is 'kkk"),
        (".edn", b"[" * MEGABYTE, "column 201: collections are nested more than 200 deep"),
        (".edn", b"#_ " * MEGABYTE, "collections are nested more than 200 deep"),
        (".edn", b"{:type " + b"9" * MEGABYTE + b"}", "line 1: :type is 999"),
        (".edn", b"\xff\xfe{\0", "EDN is UTF-8 text: convert the file"),
    ],
    ids=range(8),
)
def test_hostile_content_is_refused_with_its_place(
    ending: str, content: bytes, why: str, tmp_path: Path
) -> None:
    path = tmp_path / f"hostile{ending}"
    path.write_bytes(content)
    assert why in refused(path)


def test_a_text_of_ndjson_that_is_not_utf_8_is_refused(rows: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "h.ndjson"
    path.write_bytes(in_format(".ndjson", rows, tmp_path).replace(b'"ok"', b'"\xb0k"', 1))
    assert "column outcome is not UTF-8 text" in refused(path)


def test_operations_that_the_footer_does_not_declare_are_refused(
    rows: pa.Table, tmp_path: Path
) -> None:
    path = tmp_path / "h.parquet"
    write_part(rows, path)
    highest = pq.read_metadata(path).row_group(0).column(0).statistics.max
    data, footer = path.read_bytes()[: -(at := 8)], path.read_bytes()[-at:]
    size = int.from_bytes(footer[:4], "little")
    body, declared = data[:-size], data[-size:]
    changed = declared.replace(highest.to_bytes(8, "little"), (highest + 7).to_bytes(8, "little"))
    path.write_bytes(body + changed + footer)
    assert f"and its footer declares 0 to {highest + 7}" in refused(path, analysed=True)


@pytest.mark.parametrize("odd", [b'{"at_ns": 1e999, "do": "kill", "node": 1}', b"[" * MEGABYTE])
def test_a_hostile_fault_log_is_refused(odd: bytes, tmp_path: Path) -> None:
    (tmp_path / "faults.ndjson").write_bytes(odd)
    with pytest.raises(UnreadableHistory, match="line 1: this is not a fault"):
        faults(tmp_path)


@pytest.mark.parametrize("odd", [b"[" * MEGABYTE, b'{"schema_version": [2]}'])
def test_hostile_metadata_is_refused(odd: bytes, tmp_path: Path) -> None:
    (tmp_path / METADATA).write_bytes(odd)
    assert METADATA in refused(tmp_path)
