"""Iceberg tables with deleted rows, as short descriptions; and which rows they have, by the spec.

A table has two schemas. Files with a sequence number up to `OLD` have the first one:

    first schema     op long, key string, offset int,  gone string
    second schema    op long, key string, offset long, added string

A data file may lack the column that the table is partitioned by. Then each row has the value of the
file's partition. A description becomes a folder with metadata, manifests and Parquet files.
`remaining` is the literal definition of the rows of a table.

Source: the Iceberg table spec, "Scan Planning" and "Column Projection".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from tests.checkers.histories.io.avro.avro_histories import MARKER
from tests.checkers.histories.io.iceberg_tables import DeleteManifest

OP, KEY, OFFSET, GONE, ADDED = 1, 2, 3, 4, 5
OLD: Final = 2
NEWEST: Final = 4  # sequence number
NAMES: Final = {OP: "op", KEY: "key", OFFSET: "offset", GONE: "gone", ADDED: "added"}
FIRST_SCHEMA: Final = {OP: "long", KEY: "string", OFFSET: "int", GONE: "string"}
SECOND_SCHEMA: Final = {OP: "long", KEY: "string", OFFSET: "long", ADDED: "string"}
ARROW: Final = {"long": pa.int64(), "int": pa.int32(), "string": pa.string()}
VALUES: Final[Mapping[int, tuple[Any, ...]]] = {
    OP: (0, 1, 2, 3, 4, 5),
    KEY: ("a", "b", None),
    OFFSET: (0, 1, None),
    GONE: ("x", None),
    ADDED: ("y", None),
}
# partition specs: the column and the transform of their field
SPECS: Final[tuple[tuple[int, str] | None, ...]] = (
    None,
    (KEY, "identity"),
    (OFFSET, "identity"),
    (KEY, "void"),
)
UNPARTITIONED: Final = (0, 3)
ROWS, POSITIONS, EQUALITY = 0, 1, 2


@dataclass(frozen=True)
class File:
    """A file of a table. `value` is the value of its partition, and `ids` are the field ids of its
    columns.

    Each row of a data file or of equality deletes has a value for each of these columns. A row of
    position deletes is the number of a data file and a position.
    """

    content: int
    sequence: int
    spec: int
    value: Any
    ids: tuple[int, ...]
    rows: tuple[tuple[Any, ...], ...]

    def has(self, values: tuple[Any, ...]) -> dict[int, Any]:
        """Returns the values of a row by column. They include the value of the file's partition."""
        field = SPECS[self.spec]
        of_partition = {field[0]: self.value} if field and field[1] == "identity" else {}
        return of_partition | dict(zip(self.ids, values, strict=True))


Table = tuple[File, ...]


def remaining(table: Table) -> list[int]:
    """Returns the operations of the rows that no delete file deletes, in order."""
    return sorted(
        file.has(values)[OP]
        for number, file in enumerate(table)
        if file.content == ROWS
        for position, values in enumerate(file.rows)
        if not any(deletes(other, file, (number, position), values) for other in table)
    )


def deletes(other: File, file: File, place: tuple[int, int], values: tuple[Any, ...]) -> bool:
    is_same = (other.spec, other.value) == (file.spec, file.value)
    if other.content == POSITIONS:
        return file.sequence <= other.sequence and is_same and place in other.rows
    if other.content == EQUALITY:
        applies = is_same or other.spec in UNPARTITIONED
        row = file.has(values)
        return (
            file.sequence < other.sequence
            and applies
            and any(
                all(row.get(it) == value for it, value in zip(other.ids, deleted, strict=True))
                for deleted in other.rows
            )
        )
    return False


# ---------------------------------------------------------------- random tables


@st.composite
def tables(draw: st.DrawFn) -> Table:
    data = [draw(data_files(first_op=10 * number)) for number in range(draw(st.integers(1, 4)))]
    return (*data, *draw(st.lists(delete_files(data), min_size=1, max_size=4)))


@st.composite
def data_files(draw: st.DrawFn, first_op: int) -> File:
    sequence, spec = draw(st.integers(1, NEWEST)), draw(st.sampled_from(range(len(SPECS))))
    ids = tuple(FIRST_SCHEMA if sequence <= OLD else SECOND_SCHEMA)
    column, value = OP, None
    if (field := SPECS[spec]) and spec not in UNPARTITIONED:
        column, _ = field
        value = draw(st.sampled_from(VALUES[column]))
        if draw(st.booleans()):
            ids = tuple(number for number in ids if number != column)
    rows = [
        tuple(
            first_op + position
            if number == OP
            else value
            if number == column
            else draw(st.sampled_from(VALUES[number]))
            for number in ids
        )
        for position in range(draw(st.integers(1, 4)))
    ]
    return File(ROWS, sequence, spec, value, ids, tuple(rows))


@st.composite
def delete_files(draw: st.DrawFn, data: list[File]) -> File:
    like = draw(st.sampled_from(data))
    sequence = draw(st.integers(1, NEWEST))
    if draw(st.booleans()):
        places = [(n, at) for n, file in enumerate(data) for at in range(len(file.rows))]
        some = draw(st.lists(st.sampled_from(places), min_size=1, max_size=4))
        return File(POSITIONS, sequence, like.spec, like.value, (), tuple(sorted(some)))
    spec, value = draw(st.sampled_from([(like.spec, like.value), (0, None), (3, None)]))
    ids = tuple(sorted(draw(st.sets(st.sampled_from([*NAMES][1:]), min_size=1, max_size=3))))
    row = st.tuples(*(st.sampled_from(VALUES[number]) for number in ids))
    return File(
        EQUALITY,
        sequence,
        spec,
        value,
        ids,
        tuple(draw(st.lists(row, min_size=0, max_size=3))),
    )


# ---------------------------------------------------------------- from JSON


def from_json(files: list[dict[str, Any]]) -> Table:
    return tuple(
        File(**{**file, "ids": tuple(file["ids"]), "rows": tuple(map(tuple, file["rows"]))})
        for file in files
    )


# ---------------------------------------------------------------- as a folder


def written(table: Table, folder: Path) -> Path:
    """Writes the table to the folder, and returns its metadata file."""
    (folder / "metadata").mkdir(parents=True)
    io, entries = PyArrowFileIO(), []
    for number, file in enumerate(table):
        path = folder / f"{number}.parquet"
        pq.write_table(stored(file, folder), path)
        entries.append((file, entry(file, path)))
    entries.sort(key=group)
    manifests = [manifest(io, folder, *some) for some in groupby(entries, group)]
    manifest_list = f"file://{folder}/metadata/list.avro"
    with write_manifest_list(2, io.new_output(manifest_list), 1, None, NEWEST, "null") as content:
        content.add_manifests(manifests)
    replace_marker(folder / "metadata" / "list.avro")
    path = folder / "metadata" / "v1.metadata.json"
    path.write_text(json.dumps(metadata(folder, manifest_list)))
    return path


def group(entry: tuple[File, ManifestEntry]) -> tuple[int, bool]:
    return entry[0].spec, entry[0].content != ROWS


def stored(file: File, folder: Path) -> pa.Table:
    if file.content == POSITIONS:
        paths = [f"file://{folder}/{number}.parquet" for number, _ in file.rows]
        positions = pa.array([position for _, position in file.rows], pa.int64())
        numbers = {b"PARQUET:field_id": b"2147483546"}, {b"PARQUET:field_id": b"2147483545"}
        return pa.table(
            [pa.array(paths), positions],
            pa.schema(
                [
                    pa.field("file_path", pa.string(), nullable=False, metadata=numbers[0]),
                    pa.field("pos", pa.int64(), nullable=False, metadata=numbers[1]),
                ]
            ),
        )
    both = (SECOND_SCHEMA, FIRST_SCHEMA) if file.sequence <= OLD else (FIRST_SCHEMA, SECOND_SCHEMA)
    types = both[0] | both[1]
    fields = [
        pa.field(NAMES[it], ARROW[types[it]], metadata={b"PARQUET:field_id": str(it).encode()})
        for it in file.ids
    ]
    columns = [*zip(*file.rows, strict=True)] or [()] * len(fields)
    arrays = [pa.array(column, one.type) for column, one in zip(columns, fields, strict=True)]
    return pa.table(arrays, pa.schema(fields))


def entry(file: File, path: Path) -> ManifestEntry:
    content = DataFile.from_args(
        content=DataFileContent(file.content),
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record() if SPECS[file.spec] is None else Record(file.value),
        record_count=len(file.rows),
        file_size_in_bytes=path.stat().st_size,
        equality_ids=[*file.ids] if file.content == EQUALITY else None,
    )
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.EXISTING,
        snapshot_id=1,
        sequence_number=file.sequence,
        file_sequence_number=file.sequence,
        data_file=content,
    )


def manifest(
    io: PyArrowFileIO,
    folder: Path,
    key: tuple[int, bool],
    entries: Iterator[tuple[File, ManifestEntry]],
) -> ManifestFile:
    spec, has_deletes = key
    output = io.new_output(f"file://{folder}/metadata/{spec}-{has_deletes}.avro")
    kind = DeleteManifest if has_deletes else ManifestWriterV2
    of = PartitionSpec.model_validate(partition_spec(spec))
    schema = Schema.model_validate(schema_of(1, {**FIRST_SCHEMA, **SECOND_SCHEMA}))
    with kind(of, schema, output, 1, "null") as writing:
        for _, one in entries:
            writing.existing(one)
    make_ids_integers(folder / "metadata" / f"{spec}-{has_deletes}.avro")
    return writing.to_manifest_file()


def make_ids_integers(file: Path) -> None:
    """Gives the equality ids of a manifest the type that the spec has; pyiceberg writes longs."""
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        header, entries = dict(reader.metadata), [*reader]
    schema = json.loads(header.pop("avro.schema"))
    content = next(one["type"] for one in schema["fields"] if one["name"] == "data_file")
    ids = next(one["type"] for one in content["fields"] if one["name"] == "equality_ids")
    assert ids[1]["items"] == "long"
    ids[1]["items"] = "int"
    with file.open("wb") as stream:
        codec = header.pop("avro.codec")
        fastavro.writer(stream, schema, entries, codec, metadata=header, sync_marker=MARKER)


def replace_marker(file: Path) -> None:
    """Replaces the random bytes with which pyiceberg ends the blocks of an Avro file."""
    content = file.read_bytes()
    file.write_bytes(content.replace(content[-len(MARKER) :], MARKER))


def metadata(folder: Path, manifest_list: str) -> dict[str, Any]:
    snapshot = {
        "snapshot-id": 1,
        "sequence-number": NEWEST,
        "timestamp-ms": 0,
        "manifest-list": manifest_list,
        "summary": {"operation": "overwrite"},
        "schema-id": 1,
    }
    return {
        "format-version": 2,
        "table-uuid": "00000000-0000-0000-0000-000000000001",
        "location": f"file://{folder}",
        "last-sequence-number": NEWEST,
        "last-updated-ms": 0,
        "last-column-id": ADDED,
        "schemas": [schema_of(0, FIRST_SCHEMA), schema_of(1, SECOND_SCHEMA)],
        "current-schema-id": 1,
        "partition-specs": [*map(partition_spec, range(len(SPECS)))],
        "default-spec-id": 0,
        "last-partition-id": 1000 + len(SPECS),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {},
        "snapshots": [snapshot],
        "current-snapshot-id": 1,
        "refs": {"main": {"snapshot-id": 1, "type": "branch"}},
    }


def schema_of(number: int, types: Mapping[int, str]) -> dict[str, Any]:
    fields = [
        {"id": it, "name": NAMES[it], "type": kind, "required": False} for it, kind in types.items()
    ]
    return {"type": "struct", "schema-id": number, "fields": fields}


def partition_spec(number: int) -> dict[str, Any]:
    fields = [
        {
            "source-id": column,
            "field-id": 1000 + number,
            "name": f"{NAMES[column]}_{number}",
            "transform": transform,
        }
        for column, transform in filter(None, [SPECS[number]])
    ]
    return {"spec-id": number, "fields": fields}
