"""Finds the files of a history, and for each file the function that reads its format.

A user may pass any of these as a history:

    a folder of `urteil record`    its files are described in `recorded`
    a folder of files              Parquet, NDJSON or Avro, also in nested folders, such as `date=…`
    the folder of a Delta table    the Parquet files of its newest version (`delta`)
    an Iceberg table's folder      the Parquet files of its current snapshot (`iceberg`)
    a .parquet file                it has the columns of `COLUMNS`
    a .ndjson or .jsonl file       each line is an object; its fields are the columns
    a .avro file                   an Avro container file: each record is a row
    a .edn file                    a history of Jepsen

The format of any other file is detected from its first bytes. A folder of files may contain a run
folder of Urteil. The files of the run folder are not part of the history.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.json as paj

from checkers.histories.io import delta, iceberg, recorded
from checkers.histories.io.columns import check_columns
from checkers.histories.io.json_faults import LONGEST_LINE, first_fault
from checkers.histories.io.locations import FileSet, Location, Place, Remote
from checkers.histories.io.operation_rows import SCHEMA, as_table
from checkers.histories.io.parquet_files import opened, reading_parquet, tables_of
from checkers.histories.io.small_files import content_or_file
from checkers.histories.io.unreadable import SHOWN, UnreadableHistory
from checkers.run_files import DESCRIPTION, HISTORY

if TYPE_CHECKING:
    from collections import Counter

Reader = Callable[[Place], Iterator[pa.Table]]
OPERATIONS_AT_ONCE: Final = 5_000  # more would reach the garbage collector's old generation first


def sources(history: Location) -> list[tuple[Reader, Place]]:
    """Returns the files of a history, each with the function that reads the file.

    A folder that `urteil record` wrote is a single entry of the result. Raises UnreadableHistory if
    there is no such history, or if its format is unknown.
    """
    if isinstance(history, FileSet) and history.reader is not None:
        return [(history.reader, place) for place in history.files]
    if isinstance(history, FileSet):
        return _alike(history, [place for one in history.files for place in _files_at(one)])
    if iceberg.METADATA.fullmatch(history.name):
        return sources(iceberg.files_of(history))
    if history.is_dir():
        if (history / recorded.METADATA).exists():
            return [(recorded.tables, history)]
        if delta.is_table(history):
            return sources(delta.files_of(history))
        if iceberg.is_table(history):
            return sources(iceberg.files_of(history))
        return _alike(history, _files_at(history))
    return [(_reader(history), history)]


def _files_at(place: Place) -> list[Place]:
    if not place.is_dir():
        return [place]
    found: list[Place] = [*(_below(place) if isinstance(place, Path) else _remote_below(place))]
    for one in found:
        if one.name == recorded.METADATA:
            raise UnreadableHistory(
                f"{place}: {one} belongs to a recording; pass the folder of that file alone"
            )
        if one.name == delta.LOG:
            raise UnreadableHistory(
                f"{place}: {one} belongs to a Delta table; pass the folder of that table alone"
            )
        if iceberg.METADATA.fullmatch(one.name):
            raise UnreadableHistory(
                f"{place}: {one} belongs to an Iceberg table; pass the folder of that table alone"
            )
    return sorted((it for it in found if it.suffix in _SUFFIXES_IN_FOLDERS), key=str)


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        if delta.LOG in folders:
            yield Path(parent) / delta.LOG
        if DESCRIPTION in names and parent != str(folder):  # a run; it may have a recording
            folders[:] = [name for name in folders if name == HISTORY]
            continue
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            if not name.startswith(("_", ".")):
                yield Path(parent) / name


def _remote_below(folder: Remote) -> Iterator[Remote]:
    start = len(folder.path)
    for entry, is_folder in folder.entries(deep=True):
        names = entry.path[start:].split("/")
        is_hidden = any(name.startswith(("_", ".")) for name in names)
        if names[-1] == delta.LOG if is_folder else not is_hidden:
            yield entry


def _alike(history: Location, files: list[Place]) -> list[tuple[Reader, Place]]:
    if not files:
        raise UnreadableHistory(
            f"{history}: the folder contains neither {recorded.METADATA} nor *.parquet nor "
            "*.ndjson nor *.avro; pass the folder that `urteil record` wrote, or a file"
        )
    readers = {_BY_SUFFIX.get(file.suffix) or _reader(file) for file in files}
    if len(readers) > 1:
        kinds = ", ".join(sorted({file.suffix for file in files}))
        raise UnreadableHistory(
            f"{history}: files of several formats ({kinds}); pass those of one format by a glob"
        )
    (reader,) = readers
    if reader is _edn and len(files) > 1:
        raise UnreadableHistory(
            f"{history}: {len(files)} EDN files, and each is a history of its own; "
            "analyze them one by one"
        )
    return [(reader, file) for file in files]


def _reader(path: Place) -> Reader:
    if not path.exists():
        what = "bucket, object" if isinstance(path, Remote) else "file"
        where = "address" if isinstance(path, Remote) else "path"
        raise UnreadableHistory(f"{path}: no such {what} or folder; check the {where}")
    if path.is_fifo():  # a history is read more than once
        raise UnreadableHistory(
            f"{path}: this is a pipe, and a history is read more than once; "
            "write its content to a file and pass that"
        )
    try:
        with path.open("rb") as file:
            beginning = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise UnreadableHistory(f"{path}: {error.strerror}; check its permissions") from error
    if not beginning:
        raise UnreadableHistory(f"{path}: the file is empty; record the history again")
    reader = _BY_SUFFIX.get(path.suffix)
    if reader:
        return reader
    if beginning.startswith(b"PAR1"):
        return _parquet
    if beginning.startswith(b"Obj\x01"):
        return _avro
    if beginning.startswith(b'{"'):
        return _json_lines
    if beginning.startswith((b"{:", b"[{:", b"#", b";")):
        return _edn
    raise UnreadableHistory(
        f"{path}: unknown format: the file begins neither as Parquet nor as NDJSON nor as EDN nor "
        "as Avro; check the path, or end its name with .parquet, .ndjson, .edn or .avro"
    )


# ---------------------------------------------------------------- a reader for each format


def _parquet(path: Place) -> Iterator[pa.Table]:
    return parquet(path)


def parquet(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    """Yields the tables of a Parquet file. With `known_only`, an unknown column is an error."""
    with reading_parquet(path), opened(path) as file:
        schema = file.schema_arrow
        if known_only:
            check_columns(schema.names, path)
        yield from tables_of(file)


def _edn(path: Place) -> Iterator[pa.Table]:
    return edn(path)


def edn(path: Place, unmapped: Counter[str] | None = None) -> Iterator[pa.Table]:
    """Yields the tables of a Jepsen history. `unmapped` counts the events and the fields that
    are not read.
    """
    from checkers.histories.io import jepsen  # late: other formats start faster

    operations = jepsen.operations(path, unmapped)
    first_op = 0
    while some := list(islice(operations, OPERATIONS_AT_ONCE)):
        yield as_table(some, first_op=first_op)
        first_op += len(some)


def _json_lines(path: Place) -> Iterator[pa.Table]:
    return json_lines(path)


def json_lines(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    lenient = pa.schema([field.with_nullable(nullable=True) for field in SCHEMA])
    unexpected = "error" if known_only else "infer"
    parse = paj.ParseOptions(explicit_schema=lenient, unexpected_field_behavior=unexpected)
    try:
        blocks = paj.open_json(
            content_or_file(path),
            read_options=paj.ReadOptions(block_size=LONGEST_LINE),
            parse_options=parse,
        )
        for batch in blocks:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise UnreadableHistory(f"{path}{first_fault(path, first_line(error))}") from error


def _avro(path: Place) -> Iterator[pa.Table]:
    return avro(path)


def avro(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    from checkers.histories.io.avro import rows  # late: other formats start faster

    yield from rows.tables(path, known_only=known_only)


_BY_SUFFIX: Final[dict[str, Reader]] = {
    ".avro": _avro,
    ".edn": _edn,
    ".parquet": _parquet,
    ".ndjson": _json_lines,
    ".jsonl": _json_lines,
}
FORMATS: Final[dict[Reader, str]] = {
    _avro: "avro",
    _edn: "edn",
    _json_lines: "ndjson",
    _parquet: "parquet",
}
_SUFFIXES_IN_FOLDERS: Final = (".avro", ".parquet", ".ndjson", ".jsonl")


def first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:SHOWN] if str(error) else type(error).__name__
