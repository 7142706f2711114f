"""Checks the rules for the columns and the rows of a history.

An unknown column is an error, because its name may be misspelt. A column of a different type is
cast to the right type, if the cast changes no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.sorting import Mask
from checkers.histories.io.columns import check_columns
from checkers.histories.io.locations import Place
from checkers.histories.io.operation_rows import KINDS, SCHEMA, with_new_columns
from checkers.histories.io.sources import first_line
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import COLUMNS, Isolation, Outcome

NEEDED: Final = {
    "send": ("key", "value"),
    "poll": ("key", "value"),
    "end_offset": ("key", "offset"),
    "start_offset": ("key", "offset"),
    "assigned": ("key",),
    "rebalanced": ("key",),
    "commit_offset": ("key", "offset", "group"),
    "fetch_offset": ("key", "group"),
}
ENUMERATIONS: Final = {
    "outcome": get_args(Outcome),
    "kind": (*KINDS, "none"),
    "isolation": get_args(Isolation),
}
_NOT_TEXT: Final = "is not UTF-8 text"
ODD: Final = pa.schema([("op", pa.int64()), ("what", pa.string())])


def cast(table: pa.Table, path: Place) -> pa.Table:
    """Returns the table with exactly the columns `COLUMNS`, in the right types. The values are not
    checked.

    Raises UnreadableHistory if a column is unknown or missing, or if it cannot be cast.
    """
    check_columns(table.schema.names, path)
    table = with_new_columns(table)
    if table.schema.equals(SCHEMA):
        return table
    columns: list[pa.ChunkedArray] = []
    for field in SCHEMA:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise UnreadableHistory(
                f"{path}: column {field.name} has the type {table[field.name].type} instead of "
                f"{field.type} ({first_line(error)}); cast the column"
            ) from error
    return pa.table(columns, schema=SCHEMA)


def known(table: pa.Table, unmapped: Counter[str]) -> pa.Table:
    """Returns the table without the columns that a history does not have. Adds the number of values
    in each of these columns to `unmapped`.
    """
    for name in table.column_names:
        if name not in COLUMNS:
            unmapped[f"column {name}"] += len(table) - table[name].null_count
            table = table.drop_columns([name])
    return table


def refuse(odd: pa.Table, path: Place | str) -> None:
    """Raises UnreadableHistory if `odd`, a result of `odd_rows`, has a row. The message describes
    the row with the lowest operation number.
    """
    if odd.num_rows:
        first = min(odd.to_pylist(), key=lambda row: (row["op"], row["what"]))
        where = "a row without an op" if first["op"] < 0 else f"a row of operation {first['op']}"
        raise UnreadableHistory(f"{path}, {where}: {first['what']}; fix that row")


def odd_rows(batch: Batch) -> pa.Table:
    """Returns a table with each rule that some row breaks, and the lowest operation number of such
    a row.
    """
    found: list[dict[str, Any]] = []
    for odd, what in broken_rules(batch):
        ops = batch.table["op"].filter(pa.array(odd)).fill_null(-1)
        found.append({"op": compute.min(ops).as_py(), "what": what})
    return pa.Table.from_pylist(found, schema=ODD)


def broken_rules(batch: Batch) -> Iterator[tuple[Mask, str]]:
    """Yields each rule that some row of `batch` breaks: a mask of these rows, and a text that
    describes the fault.
    """
    return ((odd, what) for odd, what in _rules(batch) if odd.any())


def _rules(batch: Batch) -> Iterator[tuple[Mask, str]]:
    has_other_bytes = False
    for odd, what in _rules_of_cells(batch):
        has_other_bytes |= what.endswith(_NOT_TEXT) and bool(odd.any())
        yield odd, what
    if not has_other_bytes:  # such a column cannot be compared with the allowed values
        yield from _rules_of_rows(batch)


def _rules_of_cells(batch: Batch) -> Iterator[tuple[Mask, str]]:
    for field in SCHEMA:
        if field.name not in batch.table.schema.names:
            continue
        if not field.nullable:
            yield ~batch.is_valid(field.name), f"column {field.name} is null, and needs a value"
        if pa.types.is_string(field.type):
            yield _not_utf8(batch.table[field.name]), f"column {field.name} {_NOT_TEXT}"


def _rules_of_rows(batch: Batch) -> Iterator[tuple[Mask, str]]:
    present = batch.table.schema.names
    for name, allowed in ENUMERATIONS.items():
        if name in present:
            odd = batch.is_valid(name) & ~batch.is_in(name, *allowed)
            yield odd, f"column {name} is none of {', '.join(allowed)}"
    if "offset" in present:
        yield (
            batch.is_valid("offset") & (batch.ints("offset", null=UNKNOWN_OFFSET) < 0),
            "column offset is negative: clients use -1 and -1001 for an unknown offset; write null",
        )
    for kind, needed in NEEDED.items():
        for name in needed:
            if name in present:
                yield (
                    batch.is_in("kind", kind) & ~batch.is_valid(name),
                    f"column {name} is null, and a row of kind {kind} needs it",
                )


def _not_utf8(column: pa.ChunkedArray) -> Mask:
    texts = column
    if pa.types.is_dictionary(column.type):
        texts = pa.chunked_array([one.dictionary for one in column.chunks], pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([not _is_utf8(cell) for cell in column.cast(pa.binary()).to_pylist()])
    return np.zeros(len(column), np.bool_)


def _is_utf8(cell: bytes | None) -> bool:
    try:
        (cell or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
