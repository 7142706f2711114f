"""Finds the Parquet files of one snapshot of an Iceberg table through the table's metadata.

The folder `metadata` of a table has these files:

    metadata/v3.metadata.json             the third version, if the table has no catalog service
    metadata/00002-UUID.metadata.json     the third version, if the table has a catalog
    metadata/snap-….avro                  the manifest list of a snapshot
    metadata/….avro                       a manifest: data files or delete files

Only the catalog stores which version is the current version, and this reader has no access to the
catalog. So it reads the version with the highest number, and refuses the table if two files have
this number. A user can also pass the path of a file `*.metadata.json` to select a version. The
metadata has absolute paths. A path below the table's location is looked up below the folder that
the user passed, so a copy of a table can be read.

Source: the Iceberg table spec, iceberg.apache.org/spec, versions 1 and 2.
Simplified: encrypted tables are refused, and data files must be Parquet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from checkers.histories.io.field_ids import FieldIds
from checkers.histories.io.field_types import booleans
from checkers.histories.io.locations import (
    FileSet,
    Place,
    Remote,
    UnreadableLocation,
    file_or_folder,
)
from checkers.histories.io.unreadable import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY, REWRITE

METADATA: Final = re.compile(r"v?(\d{1,18})(?:-[^/]*)?(?:\.gz)?\.metadata\.json(?:\.gz)?")
FORMATS: Final = (1, 2)
MAX_METADATA: Final = 256 << 20  # bytes
_INTEGERS: Final = (
    "format-version",
    "current-snapshot-id",
    "current-schema-id",
    "snapshot-id",
    "schema-id",
    "id",
    "spec-id",
    "source-id",
)
_GZIP: Final = b"\x1f\x8b"
_FILE: Final = re.compile(r"file:(?://[^/]*)?(?=/)")


def is_table(place: Place) -> bool:
    """Returns True if `place` is the folder of an Iceberg table, or a metadata file of an
    Iceberg table.
    """
    if METADATA.fullmatch(place.name):
        return place.is_file()
    return place.is_dir() and any(True for _ in _versions(place))


def files_of(table: Place, snapshot: int | None = None) -> FileSet:
    """Returns the data files of the snapshot with the id `snapshot`.

    If `snapshot` is None, it is the current snapshot. Raises UnreadableHistory if the metadata is
    damaged, if it lacks the snapshot, or if the table uses an unsupported feature.
    """
    from checkers.histories.io import iceberg_manifests  # late: it imports fastavro
    from checkers.histories.io.iceberg_deletes import deleted_rows
    from checkers.histories.io.iceberg_equality_deletes import deleted_values
    from checkers.histories.io.iceberg_partitions import partition_specs, values_of_partitions

    file = table if METADATA.fullmatch(table.name) else _newest(table)
    folder = _parent(_parent(file.absolute()))
    metadata = _metadata(file)
    wanted = _snapshot(file, metadata, snapshot)
    for what, move in _obstacles(metadata, wanted):
        raise UnreadableHistory(f"{file}: Urteil cannot read this Iceberg table: {what}; {move}")
    fields = _fields(_schema(metadata, wanted, is_current=snapshot is None) or {})
    if not fields:
        raise UnreadableHistory(f"{file}: its metadata has no schema of the snapshot; {COPY}")
    columns = tuple((field["id"], field["name"]) for field in fields)

    def place(path: str) -> Place:
        try:
            return _place(folder, str(metadata["location"]), path)
        except UnreadableLocation as fault:
            raise UnreadableHistory(f"{file}: the table refers to {fault}; {COPY}") from fault

    manifest_list = place(wanted["manifest-list"])
    files = sorted(iceberg_manifests.files(manifest_list, place), key=lambda file: file.path)
    found = [file.path for file in files if file.content is iceberg_manifests.Content.ROWS]
    name = f"{table}, snapshot {wanted['snapshot-id']}"
    if not found:
        raise UnreadableHistory(f"{name}: it has no rows; name another one by --table-version")
    specs, fields_by_id = partition_specs(metadata), _every_field(metadata)
    reader = FieldIds(
        columns,
        values_of_partitions(files, specs, fields_by_id, place),
        deleted_rows(files, place),
        deleted_values(files, fields_by_id, specs, place),
    )
    return FileSet(name, tuple(map(place, found)), reader)


# ---------------------------------------------------------------- the metadata file


def _versions(table: Place) -> Iterator[tuple[int, Place]]:
    for file in (table / "metadata").glob("*"):
        if found := METADATA.fullmatch(file.name):
            yield int(found[1]), file


def _newest(table: Place) -> Place:
    versions = [*_versions(table)]
    highest = max(number for number, _ in versions)
    newest = sorted((file for number, file in versions if number == highest), key=str)
    if len(newest) > 1:
        raise UnreadableHistory(
            f"{table}: {newest[0].name} and {newest[1].name} are both version {highest} of this "
            "Iceberg table; pass the path of the one that the catalog has"
        )
    return newest[0]


def _metadata(file: Place) -> Mapping[str, Any]:
    try:
        with file.open("rb") as content:
            data: bytes = content.read(MAX_METADATA)
        if data.startswith(_GZIP):
            from reference_impl.log.compression import decompress  # late: few files need it

            data = decompress("gzip", data, MAX_METADATA)
        found: Any = json.loads(data)
        odd = next(booleans(found, _INTEGERS), None)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableHistory(f"{file}: {str(error)[:200]}; {COPY}") from error
    if odd is not None:
        raise UnreadableHistory(f"{file}: {odd}, and this field needs an integer; {COPY}")
    match found:
        case {"format-version": int(), "location": str()}:
            return {"snapshots": (), **found}
        case _:
            raise UnreadableHistory(
                f"{file}: this is no metadata of an Iceberg table: it needs format-version and "
                f"location; {COPY}"
            )


def _snapshot(file: Place, metadata: Mapping[str, Any], wanted: int | None) -> Mapping[str, Any]:
    number = metadata.get("current-snapshot-id") if wanted is None else wanted
    if number is None or number == -1:
        raise UnreadableHistory(f"{file}: the table has no rows yet; write some, then run again")
    snapshots = {it["snapshot-id"]: it for it in _objects(metadata["snapshots"], "snapshot-id")}
    if not isinstance(number, int) or number not in snapshots:
        raise UnreadableHistory(
            f"{file}: the table has no snapshot {shown(number)}; its last ones are "
            f"{', '.join(map(str, [*snapshots][-3:])) or 'none'}; name one by --table-version"
        )
    return snapshots[number]


def _obstacles(
    metadata: Mapping[str, Any], snapshot: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    version = metadata["format-version"]
    if version not in FORMATS:
        yield f"its format version is {version}", REWRITE
    path = snapshot.get("manifest-list")
    if not (isinstance(path, str) and path.isprintable()):
        yield "the snapshot has no manifest list", REWRITE


def _schema(
    metadata: Mapping[str, Any], snapshot: Mapping[str, Any], *, is_current: bool
) -> Mapping[str, Any] | None:
    number = metadata.get("current-schema-id")
    if not is_current and "schema-id" in snapshot:
        number = snapshot["schema-id"]
    schemas = _objects(metadata.get("schemas"), "schema-id")
    only = metadata.get("schema")  # of version 1
    found = [it for it in schemas if it["schema-id"] == number]
    return found[-1] if found else only if isinstance(only, dict) else None


def _fields(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [it for it in _objects(schema.get("fields"), "id") if isinstance(it.get("name"), str)]


def _every_field(metadata: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """Returns the fields of all schemas of the table, by field id.

    If a field is in several schemas, the result has the field of the schema with the highest id.
    """
    schemas = _objects(metadata.get("schemas"), "schema-id")
    in_order = sorted(schemas, key=lambda schema: int(schema["schema-id"]))
    return {field["id"]: field for schema in in_order for field in _fields(schema)}


def _objects(found: object, number: str) -> list[Mapping[str, Any]]:
    """Returns those JSON objects of the list `found` whose field `number` is an integer. The result
    is empty if `found` is no list.
    """
    return [it for it in _items(found) if isinstance(it, dict) and isinstance(it.get(number), int)]


def _items(found: object) -> list[Any]:
    return found if isinstance(found, list) else []


# ---------------------------------------------------------------- paths


def _parent(place: Place) -> Place:
    if isinstance(place, Remote):
        return Remote(place.scheme, place.authority, place.path.rpartition("/")[0], place.query)
    return place.parent


def _place(folder: Place, location: str, path: str) -> Place:
    inside = path.removeprefix(location.rstrip("/") + "/")
    if inside != path:
        return folder / inside
    if path.startswith("file:"):  # not percent-encoded, unlike an address that a user types
        return Path(_FILE.sub("", path))
    return file_or_folder(path)
