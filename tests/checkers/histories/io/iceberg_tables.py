"""Iceberg tables in a folder, as pyiceberg writes them, with changes that it does not make."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

NAMESPACE = "urteil"


@dataclass(frozen=True)
class Tables:
    """The tables of a catalog in a SQLite file."""

    catalog: SqlCatalog

    def create(
        self, name: str, rows: pa.Table, *, partitioned_by: str | None = None, version: int = 2
    ) -> Table:
        """Returns a new table with the rows; its snapshots are in the history of the table."""
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
