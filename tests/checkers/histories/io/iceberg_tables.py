"""Iceberg tables in a folder. pyiceberg writes them, and the tests add changes that pyiceberg
cannot write.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table import Table
from pyiceberg.table.delete_file_index import PATH_FIELD_ID
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record

NAMESPACE = "urteil"


@dataclass(frozen=True)
class Tables:
    """The tables of a catalog in a SQLite file."""

    catalog: SqlCatalog

    def create(
        self, name: str, rows: pa.Table, *, partitioned_by: str | None = None, version: int = 2
    ) -> Table:
        """Returns a new table with the rows."""
        table = self.catalog.create_table(
            f"{NAMESPACE}.{name}", rows.schema, properties={"format-version": str(version)}
        )
        if partitioned_by is not None:
            with table.update_spec() as spec:
                spec.add_identity(partitioned_by)
        table.append(rows)
        return table


@contextmanager
def iceberg_tables(folder: Path) -> Generator[Tables]:
    catalog = SqlCatalog("t", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/tables")
    catalog.create_namespace(NAMESPACE)
    try:
        yield Tables(catalog)
    finally:
        catalog.engine.dispose()


def folder_of(table: Table) -> Path:
    return Path(table.location().removeprefix("file://"))


def rewrite(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes each record of an Avro container file."""
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        schema, codec, records = reader.writer_schema, reader.codec, [*reader]
    for record in records:
        change(record)
    with file.open("wb") as stream:
        fastavro.writer(stream, schema, records, codec)


# ---------------------------------------------------------------- deleted rows


class DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES


def delete_rows(
    table: Table, rows: Sequence[tuple[str, int]], *, sequence: int | None = None
) -> Path:
    """Commits a snapshot with a new delete file, and returns the path of this file: pyiceberg
    cannot write one.

    `rows` are paths of data files and positions. A delete file of an earlier commit has a
    `sequence` of its own. If all rows are in one data file, the manifest's bounds are the path of
    this data file. Without these bounds, pyiceberg would use the delete file for newer data files,
    too.
    """
    number = len(table.metadata.snapshots)
    file = folder_of(table) / "data" / f"{number}-deletes.parquet"
    paths, positions = zip(*sorted(rows), strict=True)
    pq.write_table(pa.table({"file_path": paths, "pos": pa.array(positions, pa.int64())}), file)
    bounds = {PATH_FIELD_ID: paths[0].encode()} if len({*paths}) == 1 else None
    content = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"file://{file}",
        file_format=FileFormat.PARQUET,
        partition=partition_of(table, paths),
        lower_bounds=bounds,
        upper_bounds=bounds,
        record_count=len(rows),
        file_size_in_bytes=file.stat().st_size,
    )
    commit_deletes(table, content, sequence)
    return file


def delete_values(table: Table, values: pa.Table, ids: Sequence[int] | None) -> Path:
    """Commits a snapshot that deletes all older rows with these values, and returns the new file.

    The table has no partitions.
    """
    number = len(table.metadata.snapshots)
    file = folder_of(table) / "data" / f"{number}-deletes.parquet"
    pq.write_table(values, file)
    content = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=f"file://{file}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=values.num_rows,
        file_size_in_bytes=file.stat().st_size,
        equality_ids=ids,
    )
    commit_deletes(table, content)
    return file


def commit_deletes(table: Table, content: DataFile, sequence: int | None = None) -> None:
    metadata = table.metadata
    before = metadata.current_snapshot()
    assert before is not None
    number = len(metadata.snapshots)
    snapshot_id = 1_000 + number
    place = f"{table.location()}/metadata/{number}-deletes"
    manifest = DeleteManifest(
        table.spec(), table.schema(), table.io.new_output(f"{place}-m0.avro"), snapshot_id, "null"
    )
    with manifest:
        manifest.add(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED,
                snapshot_id=snapshot_id,
                sequence_number=sequence,
                data_file=content,
            )
        )
    manifests = [*before.manifests(table.io), manifest.to_manifest_file()]
    output = table.io.new_output(f"{place}.avro")
    next_number = metadata.next_sequence_number()
    with write_manifest_list(
        2, output, snapshot_id, before.snapshot_id, next_number, "null"
    ) as manifest_list:
        manifest_list.add_manifests(manifests)
    snapshot = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": before.snapshot_id,
        "sequence-number": next_number,
        "manifest-list": f"{place}.avro",
        "summary": {"operation": "delete"},
        "schema-id": table.schema().schema_id,
    }
    ref = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot_id}
    changes = (
        AddSnapshotUpdate.model_validate({"snapshot": snapshot}),
        SetSnapshotRefUpdate.model_validate(ref),
    )
    table.catalog.commit_table(table, (), changes)
    table.refresh()


def partition_of(table: Table, paths: Sequence[str]) -> Record:
    """Returns the partition of a data file of the table: the first one whose path is in `paths`."""
    return next(it.file.partition for it in table.scan().plan_files() if it.file.file_path in paths)
