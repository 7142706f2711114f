"""A boolean in a field that needs an integer is refused, with the file and the field."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.io import delta, iceberg
from checkers.histories.io.faults import faults
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.reading import whole
from checkers.histories.io.recorded import metadata, tail_path
from checkers.histories.io.tails import completion_line, invocation_line
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.topics.copying import POSITIONS, TopicCopy
from model.faults import InputFault
from model.history_notation import history

TABLE = Path(__file__).parents[3] / "data" / "iceberg" / "operations"
VERSION = TABLE / "metadata" / "v5.metadata.json"
NOT_READ = {  # integers of the metadata that decide nothing about the rows
    "default-sort-order-id",
    "default-spec-id",
    "element-id",
    "field-id",
    "last-column-id",
    "last-partition-id",
    "last-sequence-number",
    "last-updated-ms",
    "order-id",
    "parent-snapshot-id",
    "sequence-number",
    "timestamp-ms",
}


def integers(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each integer in a JSON document."""
    if type(document) is int:
        yield path
    items = document.items() if isinstance(document, dict) else ()
    for key, value in enumerate(document) if isinstance(document, list) else items:
        yield from integers(value, (*path, key))


def with_boolean(document: Any, path: tuple[Any, ...], value: bool) -> Any:
    changed = deepcopy(document)
    *above, last = path
    inside = changed
    for key in above:
        inside = inside[key]
    inside[last] = value
    return changed


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(InputFault) as fault:
        read()
    return str(fault.value)


METADATA = json.loads(VERSION.read_bytes())
FIELDS = [path for path in integers(METADATA) if path[-1] not in NOT_READ]


@given(path=st.sampled_from(FIELDS), value=st.booleans())
def test_in_the_metadata_of_iceberg(
    path: tuple[Any, ...], value: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("t") / "v5.metadata.json"
    file.write_text(json.dumps(with_boolean(METADATA, path, value)))
    message = refusal(lambda: iceberg.files_of(file))
    assert message.startswith(f"{file}: ")
    assert f"{path[-1]} is {value}, and this field needs an integer; copy the whole" in message


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("snap-9049497114072458759*", "sequence_number"),
        ("snap-9049497114072458759*", "partition_spec_id"),
        ("2800be4e*-m0", "status"),
        ("2800be4e*-m0", "sequence_number"),
        ("2800be4e*-m0", "data_file.content"),
    ],
)
def test_in_a_manifest_of_iceberg(kind: str, field: str, value: bool, tmp_path: Path) -> None:
    copy = tmp_path / "t"
    shutil.copytree(TABLE, copy)
    (file,) = (copy / "metadata").glob(f"{kind}.avro")
    with_booleans(file, field.split("."), value)
    message = refusal(lambda: iceberg.files_of(copy, 9049497114072458759))
    assert message.startswith(f"{file}: {field} is {value}, and this field needs an integer; ")


def with_booleans(file: Path, path: list[str], value: bool) -> None:
    """Changes a field of an Avro file: in all records, the field gets the type boolean and the
    value `value`.
    """
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        schema, records = json.loads(reader.metadata["avro.schema"]), [*reader]
    of: Any = schema
    for name in path:
        field = next(one for one in of["fields"] if one["name"] == name)
        of = field["type"]
    field["type"] = "boolean"
    field.pop("default", None)
    for record in records:
        for name in path[:-1]:
            record = record[name]
        record[path[-1]] = value
    with file.open("wb") as stream:
        fastavro.writer(stream, schema, records)


def test_in_the_log_of_delta(tmp_path: Path) -> None:
    (tmp_path / delta.LOG).mkdir()
    commit = tmp_path / delta.LOG / f"{0:020}.json"
    commit.write_text('{"commitInfo": {}}\n{"protocol": {"minReaderVersion": true}}')
    assert refusal(lambda: delta.files_of(tmp_path)) == (
        f"{commit}, action 2: protocol.minReaderVersion is True, not an integer; "
        "copy the whole table again"
    )


# ---------------------------------------------------------------- recordings

LINES = [
    json.loads(line)
    for number, operation in enumerate(
        history("""
            p1 send k=a -> ok @0
            p2 poll     -> ok k=a@0
        """),
        1,
    )
    for line in (invocation_line(number, operation), completion_line(number, operation))
]


@given(
    place=st.sampled_from([(n, path) for n, line in enumerate(LINES) for path in integers(line)]),
    value=st.booleans(),
)
def test_in_a_tail(
    place: tuple[int, tuple[Any, ...]], value: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, (number, path) = tmp_path_factory.mktemp("h"), place
    (folder / "history.json").write_text('{"schema_version": 2}')
    lines = [*LINES[:number], with_boolean(LINES[number], path, value), *LINES[number + 1 :]]
    tail_path(folder, 0).write_text("".join(json.dumps(line) + "\n" for line in lines))
    name = "offset" if path[0] == "did" else path[0]
    assert refusal(lambda: whole(folder)) == (
        f"{tail_path(folder, 0)}, line {number + 1}: field {name} is {value}, not of type int64; "
        "fix that line, or copy the file again"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"process": "x"}, "field process is 'x', not of type int64"),
        ({"process": 2**80}, "field process is 1208925819614629174706176, more than 64 bits"),
        ({"f": 5}, "field f is 5, not of type string"),
        ({"f": "\ud800"}, "'utf-8' codec can't encode character"),
        ({"did": [["send", 5, None, "a"]]}, "field key is 5, not of type string"),
    ],
)
def test_a_cell_of_a_tail_with_another_type_is_refused(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    (tmp_path / "history.json").write_text('{"schema_version": 2}')
    tail_path(tmp_path, 0).write_text(json.dumps(LINES[0] | change) + "\n")
    message = refusal(lambda: whole(tmp_path))
    assert message.startswith(f"{tail_path(tmp_path, 0)}, line 1: {why}")


def test_in_the_description_of_a_recording(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text('{"schema_version": true}')
    assert "history.json: schema_version is True, and this" in refusal(lambda: metadata(tmp_path))


@pytest.mark.parametrize("name", ["at_ns", "node"])
def test_in_the_faults_of_a_recording(name: str, tmp_path: Path) -> None:
    step = {"at_ns": 1, "do": "kill", "node": 1} | {name: True}
    (tmp_path / "faults.ndjson").write_text(json.dumps(step))
    with pytest.raises(UnreadableHistory, match=f"line 1: this is not a fault .*{name} is True"):
        faults(tmp_path)


def test_in_the_positions_of_a_topic(tmp_path: Path) -> None:
    part = tmp_path / "part-00000.parquet"
    rows = SCHEMA.empty_table().replace_schema_metadata({POSITIONS: '{"0": true}'})
    pq.write_table(rows, part)
    assert refusal(lambda: TopicCopy(tmp_path, None)) == (  # type: ignore[arg-type]
        f"{part}: in urteil.positions, 0 is True, and this field needs an integer; delete the "
        f"folder {tmp_path}"
    )
