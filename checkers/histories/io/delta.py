"""Finds the Parquet files of one version of a Delta table in the table's log.

The log has a file for each commit, and sometimes a checkpoint that replaces all commits before it:

    _delta_log/00000000000000000012.json                                       version 12
    _delta_log/00000000000000000010.checkpoint.parquet                         versions 0 to 10
    _delta_log/00000000000000000010.checkpoint.0000000001.0000000003.parquet   the first of 3 parts

Each commit makes a new version of the table. The file of a commit has one action on each line. The
action `add` adds a data file to the table, and `remove` removes a data file. The action `metaData`
sets the schema and the properties of the table. The action `protocol` lists the features that a
reader must support. A table is refused if it uses a feature that changes the rows of a data file,
or the names of the columns in a data file.

Source: the Delta transaction log protocol, github.com/delta-io/delta, PROTOCOL.md.
Simplified: compacted commits (`12.15.compacted.json`) are not read, because they only repeat the
actions of commits. Checksum files are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from checkers.histories.io.locations import (
    FileSet,
    Place,
    UnreadableLocation,
    file_or_folder,
)
from checkers.histories.io.parquet_files import opened, reading_parquet, tables_of
from checkers.histories.io.unreadable import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY, REWRITE
from model.histories import COLUMNS

LOG: Final = "_delta_log"
MAX_READER_VERSION: Final = 3  # from 3 on, a table names the features that a reader must support
# the last two are refused only if the version uses them
READER_FEATURES: Final = ("timestampNtz", "vacuumProtocolCheck", "columnMapping", "deletionVectors")
MAPPING: Final = "delta.columnMapping.mode"
_COMMIT: Final = re.compile(r"(\d{20})\.json")
_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_CHECKPOINT_2: Final = re.compile(r"\d{20}\.checkpoint\.[0-9a-f-]{36}\.(json|parquet)")
_OF_CHECKPOINT: Final = ("add.path", "add.deletionVector", "metaData", "protocol")
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(slots=True)
class Snapshot:
    """The data files, the metadata and the protocol of a Delta table after some commit of its log.

    `files` maps the path of each data file to the text of its deletion vector (a bitmap of the
    file's deleted rows), or to None if the file has no deletion vector.
    """

    files: dict[str, str | None] = field(default_factory=dict[str, str | None])
    metadata: Mapping[str, Any] | None = None
    protocol: Mapping[str, Any] | None = None

    def apply(self, action: object) -> None:
        """Applies one action of the table's log, such as `add`, to the snapshot.

        Raises ValueError if the action is malformed.
        """
        match action:
            case {"add": {"path": str(path)} as of_file} if unquote(path).isprintable():
                self.files[path] = _vector(of_file)
            case {"remove": {"path": str(path)} as of_file}:
                # a commit that deletes rows of a file adds it with a vector, and removes the other
                if path in self.files and self.files[path] == _vector(of_file):
                    del self.files[path]
            case {"metaData": {"configuration": dict(), "partitionColumns": list()} as metadata}:
                self.metadata = metadata
            case {"protocol": {"minReaderVersion": bool(version)}}:
                raise ValueError(f"protocol.minReaderVersion is {version}, not an integer")
            case {"protocol": {"minReaderVersion": int()} as protocol} if isinstance(
                protocol.get("readerFeatures") or [], list
            ):
                self.protocol = protocol
            case {"add": _} | {"remove": _} | {"metaData": _} | {"protocol": _}:
                raise ValueError(f"not an action of Delta: {shown(action)}")
            case dict():
                pass
            case _:
                raise ValueError(f"not an action of Delta: {shown(action)}")


def _vector(of_file: Mapping[str, Any]) -> str | None:
    vector = of_file.get("deletionVector")
    return None if vector is None else json.dumps(vector, sort_keys=True)


def is_table(folder: Place) -> bool:
    return (folder / LOG).is_dir()


def files_of(table: Place, version: int | None = None) -> FileSet:
    """Returns the data files of a Delta table at the version `version`.

    If `version` is None, it is the newest version. Raises UnreadableHistory if the log is damaged,
    if the log lacks a needed commit, or if the table uses an unsupported feature.
    """
    commits, checkpoints = _log(table)
    newest = max([*commits, *checkpoints], default=0)
    wanted = newest if version is None else version
    start = max((number for number in checkpoints if number <= wanted), default=-1)
    missing = next((n for n in range(start + 1, wanted + 1) if n not in commits), None)
    if missing is not None:
        raise UnreadableHistory(
            f"{table}: its log cannot give version {wanted}: it lacks version {missing}, and the "
            f"newest is {newest}; name another by --table-version, or {COPY}"
        )
    snapshot = Snapshot()
    for part in checkpoints.get(start, ()):
        _apply(snapshot, part, _checkpointed(part))
    for number in range(start + 1, wanted + 1):
        _apply(snapshot, commits[number], _committed(commits[number]))
    for what, move in _obstacles(snapshot):
        raise UnreadableHistory(
            f"{table}: Urteil cannot read this Delta table at version {wanted}: {what}; {move}"
        )
    try:
        files = tuple(_place(table, path) for path in sorted(snapshot.files))
    except UnreadableLocation as fault:
        raise UnreadableHistory(f"{table}: version {wanted} refers to {fault}; {COPY}") from fault
    return FileSet(f"{table}, version {wanted}", files)


def _log(table: Place) -> tuple[dict[int, Place], dict[int, list[Place]]]:
    """Returns the files of a Delta table's log as two dicts: the commits, and the complete
    checkpoints.

    The key of both dicts is the version of the table. A checkpoint is a list of files. A checkpoint
    is complete if none of its files is missing.
    """
    commits: dict[int, Place] = {}
    parts: dict[tuple[int, int], list[Place]] = {}
    for file in (table / LOG).glob("*"):
        if commit := _COMMIT.fullmatch(file.name):
            commits[int(commit[1])] = file
        elif checkpoint := _CHECKPOINT.fullmatch(file.name):
            parts.setdefault((int(checkpoint[1]), int(checkpoint[3] or 1)), []).append(file)
        elif _CHECKPOINT_2.fullmatch(file.name):
            raise UnreadableHistory(
                f"{table}: Urteil does not support the feature v2Checkpoint of {file.name}; "
                + REWRITE
            )
    return commits, {at: some for (at, count), some in parts.items() if len(some) == count}


def _apply(snapshot: Snapshot, file: Place, actions: Iterable[object]) -> None:
    for number, action in enumerate(actions, 1):
        try:
            snapshot.apply(action)
        except ValueError as error:
            raise UnreadableHistory(f"{file}, action {number}: {error}; {COPY}") from error


def _committed(file: Place) -> Iterator[object]:
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistory(f"{file}, line {number}: {error}; {COPY}") from error


def _checkpointed(file: Place) -> Iterator[object]:
    with reading_parquet(file), opened(file) as rows:
        for some in tables_of(rows, _OF_CHECKPOINT):
            for row in some.to_pylist(maps_as_pydicts="lossy"):
                yield {name: action for name, action in row.items() if action is not None}


def _obstacles(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yields each reason why the data files alone do not contain the table's rows, with advice
    to the user.
    """
    protocol, metadata = snapshot.protocol, snapshot.metadata
    if protocol is None or metadata is None:
        yield "its log has no protocol or no metadata", COPY
        return
    needed = protocol["minReaderVersion"]
    if needed > MAX_READER_VERSION:
        yield f"its protocol needs a reader of version {needed}", REWRITE
    for name in protocol.get("readerFeatures") or ():
        if name not in READER_FEATURES:
            yield f"its protocol needs the feature {name}", REWRITE
    mapping = metadata["configuration"].get(MAPPING) or "none"
    if mapping != "none":
        yield f"its columns have other names in its files ({MAPPING} is {mapping})", REWRITE
    for path, vector in snapshot.files.items():
        if vector is not None:
            purge = f"run REORG TABLE … APPLY (PURGE), or {REWRITE}"
            yield f"{path} has deleted rows (feature deletionVectors)", purge
    for name in COLUMNS:
        if name in metadata["partitionColumns"]:
            yield f"it is partitioned by {name}, so its files lack this column", REWRITE
    if not snapshot.files:
        yield "it has no rows", "name an earlier version by --table-version"


def _place(table: Place, path: str) -> Place:
    # percent-encoded; absolute in a shallow clone
    if _ADDRESS.match(path):
        scheme, rest = path.split(":", 1)
        return file_or_folder(path if rest.startswith("//") else f"{scheme}://{rest}")
    return table / unquote(path)
