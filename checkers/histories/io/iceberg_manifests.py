"""The files of an Iceberg snapshot: its manifest list names manifests, and these name files.

Both are Avro container files. A manifest's entry has the status 2 if the snapshot deleted its file.
A file has rows or position deletes. The sequence number of a file is that of the commit that added
the file. If the file's entry has no sequence number, the entry of its manifest has it.

Source: the Iceberg table spec, "Manifests", "Manifest Lists" and "Sequence Numbers".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from checkers.histories.io.avro.containers import Container
from checkers.histories.io.avro.schemas import AvroFault
from checkers.histories.io.locations import Place
from checkers.histories.io.recorded import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY, REWRITE

# content of a file
_ROWS: Final = 0
_POSITIONS: Final = 1  # of deleted rows
_EQUALITY_DELETES: Final = 2


@dataclass(frozen=True, slots=True, order=True)
class TableFile:
    """A Parquet file of a snapshot; `path` is exactly as a manifest has it."""

    path: str
    sequence: int
    has_deletes: bool  # its rows are positions of deleted rows


def files(manifest_list: Place, place: Callable[[str], Place]) -> Iterator[TableFile]:
    """Yields each Parquet file of a snapshot.

    `place` maps the path of a manifest to the location from which the manifest is read. Raises
    UnreadableHistory if a file is damaged, or if the Parquet files alone do not have the rows of
    the snapshot.
    """
    for entry in _records(manifest_list):
        match entry:
            case {"manifest_path": str(path)} if path.isprintable():
                yield from _files_in(place(path), _number(entry.get("sequence_number")) or 0)
            case _:
                raise UnreadableHistory(
                    f"{manifest_list}: not an entry of a manifest list: {shown(entry)}; {COPY}"
                )


def _files_in(manifest: Place, sequence: int) -> Iterator[TableFile]:
    for entry in _records(manifest):
        match entry:
            case {"status": 2}:
                continue
            case {
                "status": 0 | 1,
                "data_file": {"file_path": str(path), "file_format": str(kind)} as file,
            } if path.isprintable():
                for what, move in _obstacles(file, kind):
                    raise UnreadableHistory(
                        f"{manifest}: Urteil cannot read {path} of this Iceberg table: {what}; "
                        f"{move}"
                    )
                own = _number(entry.get("sequence_number"))
                yield TableFile(
                    path, sequence if own is None else own, file.get("content") == _POSITIONS
                )
            case _:
                raise UnreadableHistory(
                    f"{manifest}: not an entry of a manifest: {shown(entry)}; {COPY}"
                )


def _number(found: object) -> int | None:
    return found if isinstance(found, int) else None


def _obstacles(file: dict[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    content = file.get("content") or _ROWS
    if content not in (_ROWS, _POSITIONS):
        is_known = content == _EQUALITY_DELETES
        what = "deleted rows (equality deletes)" if is_known else f"content {shown(content)}"
        yield f"it has {what}", f"rewrite the data files of the table, or {REWRITE}"
    if kind.upper() != "PARQUET":
        yield f"its format is {kind}", REWRITE
    if file.get("key_metadata") is not None:
        yield "it is encrypted", REWRITE


def _records(file: Place) -> Iterator[Any]:
    try:
        with file.open("rb") as content:
            yield from Container(content).records()
    except AvroFault as fault:
        raise UnreadableHistory(f"{file}{fault}") from fault
    except FileNotFoundError as error:
        raise UnreadableHistory(
            f"{file}: no such file; if the snapshot expired, name a newer one, else {COPY}"
        ) from error
    except OSError as error:
        raise UnreadableHistory(f"{file}: {error.strerror}; check its permissions") from error
