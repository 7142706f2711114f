"""A damaged manifest of an Iceberg table is refused. Damage in a field that nobody reads changes
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyiceberg.table import Table

from checkers.histories.io.iceberg_manifests import Content, files
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from model.history_notation import history
from tests.checkers.histories.io.iceberg_tables import folder_of, iceberg_tables, rewrite

ONE_SEND = as_table(history("p1 send k=a -> ok @0"))


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with iceberg_tables(tmp_path) as tables:
        yield tables.create("t", ONE_SEND)


def changed(table: Table, name: str, kind: object, value: object) -> Path:
    """Gives a field of a manifest's data file another type and value; returns the manifest."""
    (manifest,) = (folder_of(table) / "metadata").glob("*-m0.avro")
    with manifest.open("rb") as stream:
        reader = fastavro.reader(stream)
        schema: Any = json.loads(reader.metadata["avro.schema"])
        entries: list[Any] = [*reader]
    (file,) = [field["type"] for field in schema["fields"] if field["name"] == "data_file"]
    (field,) = [field for field in file["fields"] if field["name"] == name]
    field["type"] = kind
    field.pop("default", None)
    entries[0]["data_file"][name] = value
    with manifest.open("wb") as stream:
        fastavro.writer(stream, schema, entries)
    return manifest


def test_a_content_of_another_type_is_refused(table: Table) -> None:
    changed(table, "content", {"type": "array", "items": "int"}, [1])
    with pytest.raises(UnreadableHistory, match=r"it has content \[1\]; rewrite the data files"):
        whole(folder_of(table))


@pytest.mark.parametrize("content", [Content.ROWS, Content.POSITION_DELETES])
@pytest.mark.parametrize(
    ("item", "ids"),
    [(None, 5), (["null", "int"], [1, None]), ({"type": "map", "values": "int"}, [{}])],
)
def test_ids_of_a_file_without_equality_deletes_are_not_read(
    content: Content, item: object, ids: object, table: Table
) -> None:
    kind = {"type": "array", "items": item} if item else "int"
    manifest = changed(table, "equality_ids", kind, ids)
    rewrite(manifest, lambda entry: entry["data_file"].update(content=content))
    (manifest_list,) = manifest.parent.glob("snap-*.avro")
    found = [*files(manifest_list, lambda path: Path(path.removeprefix("file://")))]
    assert [(file.content, file.equality_ids) for file in found] == [(content, ())]
