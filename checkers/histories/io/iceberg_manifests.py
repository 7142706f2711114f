"""Finds the files of an Iceberg snapshot: the manifest list names manifests, and each manifest
names data files and delete files.

An entry of a manifest with the status 2 names a file that the snapshot deleted. If an entry of a
manifest has no sequence number, it has the sequence number that the manifest list gives to the
manifest.

Source: the Iceberg table spec, "Manifests", "Manifest Lists" and "Sequence Numbers".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final
from uuid import UUID

from checkers.histories.io.avro.containers import Container
from checkers.histories.io.avro.schemas import AvroFault
from checkers.histories.io.field_types import booleans
from checkers.histories.io.locations import Place
from checkers.histories.io.unreadable import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY, REWRITE

_INTEGERS: Final = ("status", "sequence_number", "partition_spec_id", "content")
_VALUES: Final = (str, bytes, bool, int, float, Decimal, date, datetime, time, UUID, type(None))


class Content(IntEnum):
    ROWS = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


@dataclass(frozen=True, slots=True)
class Partition:
    """The partition of a file: the id of its partition spec, and a value for each field of this
    spec.

    A float is stored as its hexadecimal text. So NaN equals NaN, and 0.0 differs from -0.0.
    """

    spec_id: int
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of a snapshot. `path` is the file's path as the manifest has it."""

    path: str
    sequence: int
    content: Content
    partition: Partition
    equality_ids: tuple[int, ...] = ()  # of equality deletes: the columns that are compared


def files(manifest_list: Place, place: Callable[[str], Place]) -> Iterator[TableFile]:
    """Yields each Parquet file of a snapshot.

    `place` maps the path of a manifest to the location of the file that is read. Raises
    UnreadableHistory if a manifest is damaged. Raises UnreadableHistory, too, if a file of the
    snapshot is encrypted, is not a Parquet file, or has an unknown content.
    """
    for entry in _records(manifest_list):
        match entry:
            case {"manifest_path": str(path)} if path.isprintable():
                sequence = _number(entry.get("sequence_number")) or 0
                spec_id = _number(entry.get("partition_spec_id")) or 0
                yield from _files_in(place(path), sequence, spec_id)
            case _:
                raise UnreadableHistory(
                    f"{manifest_list}: not an entry of a manifest list: {shown(entry)}; {COPY}"
                )


def _files_in(manifest: Place, sequence: int, spec_id: int) -> Iterator[TableFile]:
    for entry in _records(manifest):
        match entry:
            case {"status": 2}:
                continue
            case {
                "status": 0 | 1,
                "data_file": {
                    "file_path": str(path),
                    "file_format": str(kind),
                    "partition": dict(partition),
                } as file,
            } if path.isprintable() and all(isinstance(it, _VALUES) for it in partition.values()):
                for what, move in _obstacles(file, kind):
                    raise UnreadableHistory(
                        f"{manifest}: Urteil cannot read {path} of this Iceberg table: {what}; "
                        f"{move}"
                    )
                content = Content(file.get("content") or Content.ROWS)
                ids = file["equality_ids"] if content is Content.EQUALITY_DELETES else ()
                own = _number(entry.get("sequence_number"))
                yield TableFile(
                    path,
                    sequence if own is None else own,
                    content,
                    Partition(spec_id, tuple(map(_partition_value, partition.values()))),
                    tuple(sorted({*ids})),
                )
            case _:
                raise UnreadableHistory(
                    f"{manifest}: not an entry of a manifest: {shown(entry)}; {COPY}"
                )


def _partition_value(value: object) -> object:
    return value.hex() if isinstance(value, float) else value


def _are_numbers(found: object) -> bool:
    return isinstance(found, list) and all(type(one) is int for one in found)


def _number(found: object) -> int | None:
    """Returns the value if it is an integer of at most 64 bits, such as an int or a long of Avro.
    Returns None for any other value.
    """
    return found if isinstance(found, int) and found.bit_length() < 64 else None


def _obstacles(file: dict[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    content = file.get("content") or Content.ROWS
    if content not in [*Content]:
        yield (
            f"it has content {shown(content)}",
            f"rewrite the data files of the table, or {REWRITE}",
        )
    ids = file.get("equality_ids")
    if content == Content.EQUALITY_DELETES and not (ids and _are_numbers(ids)):
        yield f"its equality deletes have the equality ids {shown(ids)}", COPY
    if kind.upper() != "PARQUET":
        yield f"its format is {kind}", REWRITE
    if file.get("key_metadata") is not None:
        yield "it is encrypted", REWRITE


def _numbered(record: Any) -> Any:
    """Returns those fields of a record that must not be booleans.

    If the record names a data file, only two fields of this file are included, `content` and
    `equality_ids`. The values of its partition and its metrics may be booleans.
    """
    match record:
        case {"data_file": {"file_path": _} as file}:
            ids = {name: file.get(name) for name in ("content", "equality_ids")}
            return {**record, "data_file": ids}
        case _:
            return record


def _records(file: Place) -> Iterator[Any]:
    try:
        with file.open("rb") as content:
            for record in Container(content).records():
                for odd in booleans(_numbered(record), _INTEGERS):
                    raise UnreadableHistory(
                        f"{file}: {odd}, and this field needs an integer; {COPY}"
                    )
                yield record
    except AvroFault as fault:
        raise UnreadableHistory(f"{file}{fault}") from fault
    except FileNotFoundError as error:
        raise UnreadableHistory(
            f"{file}: no such file; if the snapshot expired, name a newer one, else {COPY}"
        ) from error
    except OSError as error:
        raise UnreadableHistory(f"{file}: {error.strerror}; check its permissions") from error
