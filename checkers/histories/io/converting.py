"""Converts a history of any readable format to the recorder's format.

The recorder's format is a folder with `history.json` and Parquet files. A column or field that the
recorder's format does not have is not copied, but counted. The order of the rows does not change.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from checkers.histories.io import reading, recorded, row_rules, sources
from checkers.histories.io.faults import FILE
from checkers.histories.io.locations import (
    FileSet,
    Location,
    Place,
    file_in_history,
)
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.reading_ahead import read_in_order
from model.faults import InputFault
from model.histories import SCHEMA_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The result of a conversion: the numbers of rows and Parquet files that were written.

    `unmapped` counts, for each unknown field, the values that were not copied.
    """

    rows: int
    parts: int
    unmapped: Counter[str]


def convert(history: Location, folder: Path) -> Converted:
    """Converts the history into a new folder. The folder gets its name only when it is complete.

    Raises InputFault if the folder exists already. Raises UnreadableHistory or UnreadableLocation
    if the history cannot be read.
    """
    unmapped = Counter[str]()
    rows = parts = 0
    with _completed(folder) as writing:
        for table in reading.gathered(_tables(history, unmapped)):
            write_part(table, recorded.part_path(writing, parts))
            rows, parts = rows + table.num_rows, parts + 1
        metadata = {"schema_version": SCHEMA_VERSION, "settings": {}}
        if not isinstance(history, FileSet) and file_in_history(history, recorded.METADATA):
            metadata = {**recorded.metadata(history), "schema_version": SCHEMA_VERSION}
        if faults := file_in_history(history, FILE):
            (writing / FILE).write_bytes(faults.read_bytes())
        (writing / recorded.METADATA).write_text(
            json.dumps(metadata, indent=2) + "\n", encoding="utf-8"
        )
    return Converted(rows=rows, parts=parts, unmapped=unmapped)


@contextmanager
def _completed(folder: Path) -> Generator[Path]:
    if folder.exists():
        raise InputFault(f"{folder}: already exists; name a new folder, or delete it first")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        writing = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputFault(
            f"{folder}: cannot be written: {error.strerror}; name a folder that you may write"
        ) from error
    try:
        yield writing
        writing.chmod(0o755)
        writing.rename(folder)
    finally:
        shutil.rmtree(writing, ignore_errors=True)


def _tables(history: Location, unmapped: Counter[str]) -> Iterator[tuple[Place, pa.Table]]:
    readers: dict[str, sources.Reader] = {
        "avro": partial(sources.avro, known_only=False),
        "edn": partial(sources.edn, unmapped=unmapped),
        "parquet": partial(sources.parquet, known_only=False),
        "ndjson": partial(sources.json_lines, known_only=False),
    }
    found = [
        (readers.get(sources.FORMATS.get(read, ""), read), place)
        for read, place in sources.sources(history)
    ]
    for place, some in read_in_order(found):
        for table in some:
            yield place, row_rules.cast(row_rules.known(table, unmapped), place)
