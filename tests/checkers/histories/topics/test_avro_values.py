"""Records of a topic in Avro: each is one row, and its schema comes from a folder or a registry."""

from __future__ import annotations

import io
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import fastavro
import pytest

from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.topics.address import Topic
from checkers.histories.topics.rows import RowReader
from checkers.histories.topics.value_schemas import schemas_at
from model.faults import InputFault
from model.history_notation import history
from tools.history_format import avro_schema

TABLE = as_table(history("p1 send k=a -> ok @0\np2 poll -> ok k=a@0\np2 poll -> ok"))
ROWS = TABLE.to_pylist()
TOPIC = Topic("broker:9092", "operations")


@dataclass(frozen=True)
class Record:
    """A record at an offset of partition 2."""

    content: bytes
    at: int

    def value(self) -> bytes:
        return self.content

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return self.at


def records(*values: bytes) -> list[Record]:
    return [Record(value, at) for at, value in enumerate(values, 40)]


def in_avro(row: dict[str, Any], number: int = 7, schema: Any = None) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, schema or avro_schema(), row)
    return b"\0" + number.to_bytes(4, "big") + file.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "7.avsc").write_text(json.dumps(avro_schema()))
    return tmp_path


def reader(folder: Path, unmapped: Counter[str] | None = None) -> RowReader:
    return RowReader(TOPIC, unmapped, schemas_at(str(folder)))


def refused(by: RowReader, *values: bytes) -> str:
    with pytest.raises(UnreadableHistory) as fault:
        by.table(records(*values))
    return str(fault.value)


# ---------------------------------------------------------------- records


def test_avro_and_json_and_several_schemas_may_share_a_topic(folder: Path) -> None:
    older = avro_schema()
    older["fields"] = [field for field in older["fields"] if field["name"] != "end_asked_ns"]
    (folder / "6.avsc").write_text(json.dumps(older))
    values = (in_avro(ROWS[1], 6, older), json.dumps(ROWS[0]).encode(), in_avro(ROWS[2]))
    table = reader(folder).table(records(*values)).sort_by("op")
    assert table.equals(TABLE)
    assert reader(folder, Counter()).table(records(*values)).sort_by("op").equals(TABLE)


def test_unknown_fields_are_refused_or_counted(folder: Path) -> None:
    schema = avro_schema()
    schema["fields"].append({"name": "host", "type": ["null", "string"]})
    (folder / "8.avsc").write_text(json.dumps(schema))
    hosts = ("a", "b", None)
    found = [{**row, "host": host} for row, host in zip(ROWS, hosts, strict=True)]
    values = [in_avro(row, 8, schema) for row in found]
    text = refused(reader(folder), *values)
    assert text.startswith(f"{TOPIC}, partition 2, offset 40: a history has no column host; ")
    unmapped = Counter[str]()
    assert reader(folder, unmapped).table(records(*values)).equals(TABLE)
    assert unmapped == {"column host": 2}


def test_a_record_that_is_no_row_is_refused_with_its_offset(folder: Path) -> None:
    (folder / "9.avsc").write_text('"string"')
    good, by = in_avro(ROWS[0]), reader(folder)
    for value, why in (
        (good[:-1], "the bytes are no record of the schema ("),
        (good + b"\0", "1 bytes follow the record of the schema; a topic of operations has"),
        (good[:3], "the record is shorter than the id of an Avro schema; a topic of"),
        (in_avro({**ROWS[0], "kind": "sent"}), "column kind is none of send, poll"),
        (in_avro({**ROWS[0], "offset": -1}), "column offset is negative"),
        (b"\0\0\0\0\x09\0", "its Avro schema is no record; a topic of operations"),
    ):
        text = refused(by, good, value, good)
        assert text.startswith(f"{TOPIC}, partition 2, offset 41: {why}")
    with pytest.raises(
        InputFault, match=r"5\.avsc: No such file .*; save the schema with the id 5"
    ):
        by.table(records(in_avro(ROWS[0], 5)))
    text = refused(RowReader(TOPIC), json.dumps(ROWS[0]).encode(), good)
    assert text == (
        f"{TOPIC}, partition 2, offset 41: the record is Avro with the schema 7; "
        "pass --schemas with a folder that has ID.avsc, or a schema registry's address"
    )


def test_changed_records_are_refused_or_read_but_never_a_crash(folder: Path) -> None:
    rng, by, outcome = random.Random(1), reader(folder), Counter[str]()
    for _ in range(1_000):
        value = bytearray(in_avro(rng.choice(ROWS)))
        for _ in range(rng.choice((1, 2))):
            value[rng.randrange(5, len(value))] = rng.randrange(256)
        try:
            outcome["read"] += by.table(records(bytes(value))).num_rows
        except UnreadableHistory:
            outcome["refused"] += 1
    assert min(outcome.values()) > 50


# ---------------------------------------------------------------- schemas


ANSWERS: dict[str, tuple[int, bytes]] = {
    "/schemas/ids/7": (200, json.dumps({"schema": json.dumps(avro_schema())}).encode()),
    "/schemas/ids/8": (200, b'{"schemaType": "PROTOBUF", "schema": "syntax"}'),
    "/schemas/ids/9": (200, b'{"schema": "\\"long\\"", "references": [{"name": "a"}]}'),
    "/schemas/ids/10": (200, b"<html>"),
    "/schemas/ids/11": (200, b"[" * 100_000),
    "/schemas/ids/12": (200, b"[]"),
    "/schemas/ids/13": (401, b""),
    "/schemas/ids/14": (404, b'{"error_code": 40403, "message": "Schema 14 not found"}'),
}


@pytest.fixture
def registry() -> Iterator[tuple[str, list[str]]]:
    """Starts a server that answers with ANSWERS. Yields its address, and a list to which it adds
    each request.
    """
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            status, body = ANSWERS[self.path]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002, as in the server
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def test_a_schema_is_requested_once_from_a_registry(registry: tuple[str, list[str]]) -> None:
    address, requests = registry
    by = RowReader(TOPIC, None, schemas_at(f"{address}/"))
    for row in ROWS:
        assert by.table(records(in_avro(row))).to_pylist() == [row]
    assert requests == ["/schemas/ids/7"]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (8, "8 is a schema in PROTOBUF; a topic of operations has rows of the"),
        (9, "9 refers to other schemas; a topic of operations has rows of the"),
        (10, "10: no schema registry answers (Expecting value"),
        (11, "11: no schema registry answers (maximum recursion depth"),
        (12, "12: this is no answer of a schema registry; check it"),
        (13, "13: the registry returns 401; save its schemas as ID.avsc in a folder"),
        (14, "14: the registry returns 404; it has no schema with this id"),
    ],
)
def test_what_is_no_schema_of_a_registry_is_refused(
    registry: tuple[str, list[str]], number: int, why: str
) -> None:
    by = RowReader(TOPIC, None, schemas_at(registry[0]))
    with pytest.raises(InputFault) as fault:
        by.table(records(in_avro(ROWS[0], number)))
    assert f"{registry[0]}/schemas/ids/{why}" in str(fault.value)


def test_places_without_schemas_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match=r"--schemas .*/none: no such folder; pass a folder with"):
        schemas_at(f"{tmp_path}/none")
    with pytest.raises(InputFault, match="credentials must not be part of an addre") as refusal:
        schemas_at("https://me:secret@registry/")
    assert "secret" not in str(refusal.value)
    by = RowReader(TOPIC, None, schemas_at("http://127.0.0.1:1"))
    with pytest.raises(InputFault, match=r"no schema registry answers \(.*; check the address"):
        by.table(records(in_avro(ROWS[0])))
