"""Converts operations to rows of the history format, and rows to operations.

Each micro-operation (a single send, poll or other action of an operation) is a row.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.histories.io.unreadable import shown
from model.histories import (
    COLUMNS,
    NEW_IN_2,
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    MicroOperation,
    Operation,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.type_for_alias(arrow_type), nullable=nullable)
        for name, (arrow_type, nullable, _) in COLUMNS.items()
    ]
)
KINDS: Final[dict[str, type[MicroOperation]]] = {
    "send": Send,
    "poll": Poll,
    "end_offset": EndOffset,
    "start_offset": StartOffset,
    "assigned": Assigned,
    "rebalanced": Rebalanced,
    "commit_offset": CommitOffset,
    "fetch_offset": FetchOffset,
}
KIND_OF: Final = {micro: kind for kind, micro in KINDS.items()}
_OF_SOME: Final = ("key", "offset", "value")  # fields that some micro-operations lack
_OF_OPERATION: Final = tuple(name for name in COLUMNS if name in Operation.__dataclass_fields__)


def as_table(history: Iterable[Operation], *, first_op: int = 0) -> pa.Table:
    """Returns a table of the operations, with one row for each micro-operation.

    An operation without micro-operations has one row of the kind `none`. The operations are
    numbered from `first_op` on.
    """
    operations = list(history)
    did = [operation.did or (None,) for operation in operations]
    micros = [micro for some in did for micro in some]
    indexes = [index for index, some in enumerate(did) for _ in some]
    columns: dict[str, Any] = {
        "op": [first_op + index for index in indexes],
        "position": [position for some in did for position in range(len(some))],
        "kind": ["none" if micro is None else KIND_OF[type(micro)] for micro in micros],
        **{name: [getattr(micro, name, None) for micro in micros] for name in _OF_SOME},
    }
    of_row = pa.array(indexes, pa.int64())
    for name in _OF_OPERATION:
        each = pa.array([getattr(one, name) for one in operations], SCHEMA.field(name).type)
        columns[name] = each.take(of_row)
    return pa.table({name: columns[name] for name in COLUMNS}, schema=SCHEMA)


def as_operations(table: pa.Table) -> Iterator[Operation]:
    """Yields the operations of a table. The rows of an operation must be adjacent in the table."""
    for _, together in groupby(table.to_pylist(), key=itemgetter("op")):
        rows = list(together)
        first = rows[0]
        yield Operation(
            process=first["process"],
            f=first["f"],
            outcome=first["outcome"],
            invoked_ns=first["invoked_ns"],
            completed_ns=first["completed_ns"],
            did=tuple(micro_of(row) for row in rows if row["kind"] != "none"),
            error=first["error"],
            **{name: first[name] for name in NEW_IN_2},
        )


def micro_of(row: dict[str, Any]) -> MicroOperation:
    """Returns the micro-operation of a row. Raises ValueError for an unknown kind."""
    kind = KINDS.get(row["kind"])
    if kind is None:
        raise ValueError(f"kind is {shown(row['kind'])}, none of {', '.join(KINDS)}")
    return kind(**{name: row[name] for name in kind.__dataclass_fields__})


def with_new_columns(table: pa.Table) -> pa.Table:
    """Returns the table with all columns of schema version 2. A column that is missing in the
    table is added, with nulls.
    """
    for name in NEW_IN_2:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(table.num_rows, SCHEMA.field(name).type))
    return table
