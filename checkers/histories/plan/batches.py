"""A history in pieces, and the two ways in which an analysis may look at it.

    gather      kernels look at each piece alone, all in one pass; what each returns is put
                together in the order of the pieces
    exchange    kernels deal their rows out anew, by the column `group`; rows of one group come
                into one piece, those of earlier pieces first

A kernel is a function from a piece to an Arrow table. It knows neither how the history was cut nor
who runs it, so an analysis written in these words runs in this process and on Spark.

Of a history itself (`chunks`) pieces are whole operations in completion order, and follow each
other: every operation of a piece has a smaller number than those of the next. What is exchanged
promises only that groups are whole. The law of both: no verdict depends on where the cuts are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.memory import apart
from checkers.histories.columnar.sorting import grouped, stable
from checkers.histories.plan.batch import Piece, Readable, as_ints
from checkers.histories.plan.column_cache import Shelf, Unpacked
from checkers.histories.plan.spill import Store, narrowed, read_in_turn
from checkers.progress import Progress, Watcher, unwatched

GROUP: Final = "group"  # int64; any number, so that a hash is one
HELD_BYTES: Final = 256 << 20  # of what is exchanged in this process; what is more goes to disk


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of a piece; its parameters travel with it, so it must pickle."""

    says: str  # what it does, for those who wait
    columns: tuple[str, ...]  # that it reads; of the history only these are
    schema: pa.Schema  # of what it returns
    run: Callable[[Piece], pa.Table]
    order: tuple[str, ...] = ()  # of what it deals out: in a group rows that agree in the first
    # column lie together, ascending in the others
    guards: bool = False  # a piece of which it says anything is shown to no kernel behind it
    pieces: frozenset[int] | None = None  # the numbers of those that it needs; None: all
    # the operations that it needs, ascending: of a history it is shown at least these; None: all
    ops: Ints | None = field(default=None, compare=False)

    def needs(self, number: int, chunk: Readable) -> bool:
        """Whether it may say anything of this piece: if not, it is not shown it."""
        here = self.pieces is None or number in self.pieces
        return here and (self.ops is None or chunk.may_have(self.ops))

    def __call__(self, piece: Piece) -> pa.Table:
        made = self.run(piece)
        assert made.schema.names == self.schema.names, (self.says, made.schema, self.schema)
        return made if made.schema.equals(self.schema) else made.cast(self.schema)


def said(kernels: Sequence[Kernel], chunk: Readable, number: int, salt: int) -> Iterator[pa.Table]:
    """What each kernel says of the chunk; nothing behind a guard that said anything.

    Nothing is read that none needs. Who needs few operations sees what is stored near them, unless
    others need the same columns of all.
    """
    asked = [kernel for kernel in kernels if kernel.needs(number, chunk)]
    of_all = columns_of(kernel for kernel in asked if kernel.ops is None)
    of_few = [kernel for kernel in asked if not {*kernel.columns} <= {*of_all}]
    ops = [kernel.ops for kernel in of_few if kernel.ops is not None]
    near = chunk.having(ops) if ops else chunk
    whole = _piece(chunk, of_all, number, salt)
    part = _piece(near, columns_of(of_few), number, salt)
    refused = False
    for kernel in kernels:
        piece = part if kernel in of_few else whole
        table = kernel(piece) if kernel in asked and not refused else kernel.schema.empty_table()
        refused |= kernel.guards and table.num_rows > 0
        yield table


def _piece(chunk: Readable, columns: Sequence[str], number: int, salt: int) -> Piece:
    keeper = chunk if isinstance(chunk, Unpacked) else None
    return Piece(chunk.read(columns) if columns else pa.table({}), number, salt, keeper)


def columns_of(kernels: Iterable[Kernel]) -> list[str]:
    """What the kernels read together."""
    return list(dict.fromkeys(name for kernel in kernels for name in kernel.columns))


class Pieces(Protocol):
    """A history, or what was made of one, in pieces."""

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """What each kernel says of all pieces, in the order of the pieces."""
        ...


class Chunks(Pieces, Protocol):
    """A history in pieces."""

    @property
    def rows(self) -> int:
        """About how many there are."""
        ...

    def salted(self, salt: int) -> Self:
        """The same pieces, with other fingerprints."""
        ...

    def unpacked(self, *, on_disk: bool) -> AbstractContextManager[Self]:
        """The same pieces for many looks: what is read once is kept until the block ends.

        Past what there is room for in memory it is so only on disk.
        """
        ...

    def exchange(
        self, kernels: Mapping[str, Kernel], groups: int
    ) -> AbstractContextManager[Mapping[str, Pieces]]:
        """Under each kernel's name its rows in so many pieces, by `group` modulo their number.

        They are kept until the block ends.
        """
        ...


# ---------------------------------------------------------------- dealing out


def dealt(table: pa.Table, groups: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each group that has any, in their order, without the column."""
    numbers = as_ints(table[GROUP]).view(np.uint64)
    of_row = (numbers % np.uint64(groups)).view(np.int64)
    order = stable(of_row, groups)
    bounds = np.r_[0, np.cumsum(np.bincount(of_row, minlength=groups))]
    rows = narrowed(table.drop_columns([GROUP]))
    sorted_rows = rows if groups == 1 else compute.take(rows, pa.array(order), boundscheck=False)
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        first, end = int(bounds[group]), int(bounds[group + 1])
        yield group, sorted_rows.slice(first, end - first)


def put_together(parts: Iterable[pa.Table], kernel: Kernel) -> pa.Table:
    """What a kernel dealt to one group, piece by piece, in the kernel's order."""
    tables = [part for part in parts if part.num_rows] or [without_group(kernel).empty_table()]
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    if not kernel.order or not table.num_rows:
        return table
    order = grouped(*(as_ints(table[name]) for name in kernel.order))
    return compute.take(table, pa.array(order), boundscheck=False)


def without_group(kernel: Kernel) -> pa.Schema:
    """The columns of what the kernel deals out, once it is dealt."""
    return kernel.schema.remove(kernel.schema.get_field_index(GROUP))


# ---------------------------------------------------------------- in this process


@dataclass(frozen=True, slots=True)
class LocalPieces:
    """Pieces that this process looks at, one after the other."""

    chunks: tuple[Readable, ...]
    watch: Watcher = unwatched
    salt: int = 0
    held_bytes: int = HELD_BYTES

    @property
    def rows(self) -> int:
        return int(sum(chunk.rows for chunk in self.chunks))

    def salted(self, salt: int) -> LocalPieces:
        return replace(self, salt=salt)

    @contextmanager
    def unpacked(self, *, on_disk: bool) -> Generator[LocalPieces]:
        with tempfile.TemporaryDirectory(prefix="urteil-unpacked-") as folder:
            shelf = Shelf(Path(folder) if on_disk else None, self.held_bytes)
            chunks = (Unpacked(chunk, at, shelf) for at, chunk in enumerate(self.chunks))
            yield replace(self, chunks=tuple(chunks))

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        made = [[kernel.schema.empty_table()] for kernel in kernels]
        for told in self._said(kernels):
            for some, table in zip(made, told, strict=True):
                if table.num_rows:
                    some.append(apart(table))
        return [pa.concat_tables(some) for some in made]

    @contextmanager
    def exchange(
        self, kernels: Mapping[str, Kernel], groups: int
    ) -> Generator[Mapping[str, Pieces]]:
        """As the protocol says; past `held_bytes` in memory the rest lies on disk."""
        with tempfile.TemporaryDirectory(prefix="urteil-exchange-") as scratch:
            yield self._exchanged(kernels, groups, Path(scratch))

    def _exchanged(
        self, kernels: Mapping[str, Kernel], groups: int, scratch: Path
    ) -> Mapping[str, LocalPieces]:
        passing = {
            name: Store(Path(tempfile.mkdtemp(dir=scratch)), self.held_bytes // len(kernels))
            for name in kernels
        }
        parts: dict[str, list[list[Readable]]] = {
            name: [[] for _ in range(groups)] for name in kernels
        }
        for told in self._said(list(kernels.values())):
            for name, table in zip(kernels, told, strict=True):
                for group, part in dealt(table, groups):
                    parts[name][group].append(passing[name].keep(group, part))
        made: dict[str, LocalPieces] = {}
        for name, kernel in kernels.items():
            columns = without_group(kernel).names
            store = Store(Path(tempfile.mkdtemp(dir=scratch)), self.held_bytes // len(kernels))
            chunks: list[Readable] = []
            for group, some in enumerate(parts.pop(name)):
                table = put_together(read_in_turn(some, columns), kernel)
                some.clear()
                passing[name].drop(group)
                chunks.append(store.keep(group, table))
            made[name] = replace(self, chunks=tuple(chunks))
        return made

    def _said(self, kernels: Sequence[Kernel]) -> Iterator[Iterator[pa.Table]]:
        says = "; ".join(dict.fromkeys(kernel.says for kernel in kernels))
        rows, total = 0, len(self.chunks)
        for number, chunk in enumerate(self.chunks):
            self.watch(Progress(stage=says, done=number, total=total, rows=rows))
            yield said(kernels, chunk, number, self.salt)
            rows += chunk.rows
        self.watch(Progress(stage=says, done=total, total=total, rows=rows))
