"""The columns of a synthetic history as integers, and the Parquet files that are written from them.

An operation is one call of a client, such as a poll. A micro-operation is one effect of an
operation, such as a record that the poll returned, and is one row of the history. The columns of
`OPERATION` have one element for each operation. The columns of `MICRO` have one element for each
micro-operation. A text is stored as its number in a vocabulary, a value as its index in an array of
values, and null as -1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.parquet_layout import FEW_TEXTS, write_part
from checkers.histories.io.recorded import METADATA, part_path
from model.histories import SCHEMA_VERSION

Ints = npt.NDArray[np.int64]
Columns = dict[str, Ints]
Vocabulary = Mapping[str, Sequence[str]]

NULL: Final = -1
OPERATION: Final = (
    "process",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "error",
    "transactional_id",
    "group",
    "isolation",
    "end_asked_ns",
)
MICRO: Final = ("kind", "key", "offset", "value")
ROWS_PER_PART: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Operations:
    """A sequence of operations as columns. `counts` has the number of micro-operations of each
    operation.
    """

    of_operation: Columns
    counts: Ints
    of_row: Columns
    values: pa.Array  # indexed by `of_row["value"]`

    @classmethod
    def of(cls, counts: Ints, values: pa.Array, **columns: Ints | int) -> Operations:
        """Returns operations with these columns. A number as a column stands for this number in
        every row. All other columns are null.
        """

        def full(name: str, size: int) -> Ints:
            cells = columns.get(name, NULL)
            return np.full(size, cells) if isinstance(cells, int) else cells

        return cls(
            {name: full(name, len(counts)) for name in OPERATION},
            counts,
            {name: full(name, int(counts.sum())) for name in MICRO},
            values,
        )

    @classmethod
    def concatenated(cls, parts: Iterable[Operations]) -> Operations:
        some = list(parts)
        pools = {id(part.values): part.values for part in some}  # parts may share one array
        begins = np.cumsum([0, *map(len, pools.values())])
        shifts = dict(zip(pools, begins.tolist(), strict=False))
        value = [
            np.where(cells == NULL, NULL, cells + shifts[id(part.values)])
            for part in some
            for cells in [part.of_row["value"]]
        ]
        return cls(
            {n: np.concatenate([part.of_operation[n] for part in some]) for n in OPERATION},
            np.concatenate([part.counts for part in some]),
            {
                **{n: np.concatenate([part.of_row[n] for part in some]) for n in MICRO},
                "value": np.concatenate(value),
            },
            pa.concat_arrays(pools.values()),
        )

    def in_completion_order(self) -> Operations:
        """Returns the operations ordered by completion time. Operations that did not complete come
        last.
        """
        completed = self.of_operation["completed_ns"]
        order = np.argsort(np.where(completed == NULL, 2**63 - 1, completed), kind="stable")
        counts = self.counts[order]
        firsts = (np.cumsum(self.counts) - self.counts)[order]
        rows = np.repeat(firsts, counts) + positions(counts)
        return Operations(
            {name: column[order] for name, column in self.of_operation.items()},
            counts,
            {name: column[rows] for name, column in self.of_row.items()},
            self.values,
        )

    def table(self, texts: Vocabulary, first_op: int) -> pa.Table:
        """Returns the operations as an Arrow table, whose text columns are dictionary-encoded.

        The first operation gets the number `first_op`.
        """
        numbers = np.arange(first_op, first_op + len(self.counts))
        rows = {
            "op": np.repeat(numbers, self.counts),
            "position": positions(self.counts),
            **{name: np.repeat(cells, self.counts) for name, cells in self.of_operation.items()},
            **self.of_row,
        }
        return pa.table({name: self._cells(name, rows[name], texts) for name in SCHEMA.names})

    def _cells(self, name: str, cells: Ints, texts: Vocabulary) -> pa.Array:
        field_ = SCHEMA.field(name)
        mask = (cells == NULL) if field_.nullable else None
        if name == "value":
            return self.values.take(pa.array(cells, mask=mask))
        if name in FEW_TEXTS:
            codes = pa.array(cells.astype(np.int32), mask=mask)
            return pa.DictionaryArray.from_arrays(codes, pa.array(texts[name], pa.string()))
        return pa.array(cells.astype(field_.type.to_pandas_dtype()), mask=mask)


def positions(counts: Ints) -> Ints:
    """Returns the index of each row in its group: `[3, 2]` gives `[0, 1, 2, 0, 1]`."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


@dataclass(slots=True)
class Parts:
    """Writes the Parquet files of a history one after another, in a background thread."""

    folder: Path
    rows: int = 0
    _parts: int = 0
    _held: list[pa.Table] = field(default_factory=list)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _writing: Future[None] | None = None

    def add(self, table: pa.Table) -> None:
        self._held.append(table)
        self.rows += table.num_rows
        while sum(held.num_rows for held in self._held) > ROWS_PER_PART:
            together = pa.concat_tables(self._held)
            op = together["op"]
            cut = ROWS_PER_PART
            while op[cut] == op[cut - 1]:
                cut -= 1
            self._write(together.slice(0, cut))
            self._held = [together.slice(cut)]

    def close(self, described: Mapping[str, object]) -> None:
        self._write(pa.concat_tables(self._held))
        self._wait()
        self._thread.shutdown()
        content = {"schema_version": SCHEMA_VERSION, **described, "finished": True}
        (self.folder / METADATA).write_text(json.dumps(content, indent=1) + "\n")

    def _write(self, table: pa.Table) -> None:
        self._wait()
        path = part_path(self.folder, self._parts)
        self._writing = self._thread.submit(_write, table, path)
        self._parts += 1

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()


def _write(table: pa.Table, path: Path) -> None:
    write_part(table.cast(_required(table.schema)).combine_chunks(), path)


def _required(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_nullable(SCHEMA.field(f.name).nullable) for f in schema])
