"""Reads the folder of a recorded history, as operations or as Arrow tables.

The folder has these files:

    history.json            schema version, workload, clients, settings, seed, clock, and
                            `finished`: true if the recorder read every log to its end before it
                            ended
    part-00000.parquet      rows of `COLUMNS` in completion order, operations numbered across parts
    part-00001.parquet
    tail-00002.ndjson       everything after the last part: a line per invocation and completion
                            (see `tails`)

The recorder first writes operations as text to a *tail*, and later as a table to a *part*. Part k
replaces tail k, and gets its name only when it is complete. If the recorder is killed, the last
tail remains, and its last line may be incomplete. An operation that was open at the kill gets the
outcome `info`, and is read after all completed operations. Tail k+1 begins before part k is
complete, so a kill in this time leaves both tails on disk.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from checkers.histories.io.operation_rows import SCHEMA, as_operations, as_table, with_new_columns
from checkers.histories.io.parquet_files import opened, reading_parquet, table_of
from checkers.histories.io.tails import read_tail
from checkers.histories.io.unreadable import UnreadableHistory, shown
from model.histories import SCHEMA_VERSION, History

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from checkers.histories.io.locations import Place

METADATA: Final = "history.json"
READABLE: Final = (1, SCHEMA_VERSION)
PlaceT = TypeVar("PlaceT", bound="Place")


def part_path(folder: PlaceT, number: int) -> PlaceT:
    return cast("PlaceT", folder / f"part-{number:05d}.parquet")


def tail_path(folder: PlaceT, number: int) -> PlaceT:
    return cast("PlaceT", folder / f"tail-{number:05d}.ndjson")


def metadata(folder: Place) -> dict[str, Any]:
    """Returns the content of `history.json` in the folder.

    Raises UnreadableHistory if the file is missing or malformed, or if its schema version is not
    readable.
    """
    path = folder / METADATA
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadableHistory(
            f"{folder}: the folder has no {METADATA}; pass a folder that `urteil record` wrote"
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise UnreadableHistory(f"{path}: {error}; copy or record it again") from error
    described: dict[str, Any] = content if isinstance(content, dict) else {}
    version = described.get("schema_version")
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UnreadableHistory(
            f"{path}: schema_version is {shown(version)}, and this urteil reads {readable}; "
            "update urteil, or record the history again"
        )
    settings: Any = described.setdefault("settings", {})
    if not isinstance(settings, dict):
        raise UnreadableHistory(f"{path}: settings is {shown(settings)}, not a JSON object; fix it")
    return described


def tables(folder: Place) -> Iterator[pa.Table]:
    """Yields the tables of a recorded history in completion order, with exactly the columns
    `COLUMNS`.

    Raises UnreadableHistory if the folder is malformed.
    """
    metadata(folder)
    numbers = numbers_of(folder)
    first_op = 0
    for number in numbers:
        if part_path(folder, number).exists():
            table = _part(part_path(folder, number))
        else:
            last = number == numbers[-1]
            tail = read_tail(tail_path(folder, number), last=last)
            found = (*tail.completed, *(tail.opened.values() if last else ()))
            table = as_table(found, first_op=first_op)
        yield table
        if table.num_rows:
            first_op = table["op"][-1].as_py() + 1


def numbers_of(folder: Place) -> list[int]:
    """Returns the numbers of all files of operations in the folder (parts and tails), in ascending
    order.

    Raises UnreadableHistory if a number is missing.
    """
    # tails first: while this function runs, a recorder may replace a tail by its part
    kept = [*folder.glob("tail-?????.ndjson"), *folder.glob("part-?????.parquet")]
    numbers = sorted({int(path.stem[5:]) for path in kept})
    if numbers != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers))
        raise UnreadableHistory(f"{folder}: part {missing} is missing; copy the whole folder again")
    return numbers


def parts(folder: Place) -> list[Place]:
    """Returns the Parquet files of a recorded history.

    If the recorder was killed, the folder still has a tail: a text file with the last operations.
    Then the result is empty, and the caller must call `tables`.
    """
    metadata(folder)
    numbers_of(folder)
    if any(folder.glob("tail-?????.ndjson")):
        return []
    return sorted(folder.glob("part-?????.parquet"))


def operations(folder: Place) -> History:
    """Returns the operations of a recorded history in completion order.

    Raises UnreadableHistory if the folder is malformed.
    """
    return tuple(operation for table in tables(folder) for operation in as_operations(table))


def _part(path: Place) -> pa.Table:
    with reading_parquet(path), opened(path) as file:
        table = table_of(file)
    table = with_new_columns(table)
    if table.schema.names != SCHEMA.names:
        raise UnreadableHistory(
            f"{path}: the columns are {', '.join(table.schema.names)} instead of "
            f"{', '.join(SCHEMA.names)}; copy or record the folder again"
        )
    return table.cast(SCHEMA)
