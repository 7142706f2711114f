"""A history in pieces, and the two ways in which an analysis may look at it.

    gather    a kernel looks at each piece alone; what it returns is put together
    regroup   the same, and then rows that agree in some columns are brought into one piece

A kernel is a function from an Arrow table to an Arrow table. It knows neither how the history was
cut nor who runs it, so an analysis written in these words runs in this process and on Spark.
Its law: the answer does not depend on how the history is cut, nor on the order of the pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
import pyarrow as pa

from checkers.histories.grouping import group_ids

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of a piece; its parameters travel with it, so it must pickle."""

    says: str  # what it does, for those who wait
    schema: pa.Schema  # of what it returns
    run: Callable[[pa.Table], pa.Table]

    def __call__(self, piece: pa.Table) -> pa.Table:
        made = self.run(piece)
        assert made.schema.names == self.schema.names, (self.says, made.schema, self.schema)
        return made.cast(self.schema)


class Pieces(Protocol):
    """A history, or what was made of one, in pieces."""

    def gather(self, kernel: Kernel) -> pa.Table:
        """What the kernel says of all pieces, in no particular order."""
        ...

    def regroup(self, kernel: Kernel, by: tuple[str, ...]) -> Self:
        """What the kernel makes of all pieces, rows that agree in these columns in one piece."""
        ...


def silent(stage: str) -> None:
    """Progress that nobody watches."""
    del stage


@dataclass(frozen=True, slots=True)
class LocalPieces:
    """Tables in this process; `groups` is how many pieces a regrouping makes."""

    tables: tuple[pa.Table, ...]
    groups: int = 1
    progress: Progress = field(default=silent)

    def gather(self, kernel: Kernel) -> pa.Table:
        self.progress(kernel.says)
        return pa.concat_tables([kernel.schema.empty_table(), *map(kernel, self.tables)])

    def regroup(self, kernel: Kernel, by: tuple[str, ...]) -> LocalPieces:
        together = self.gather(kernel)
        if self.groups == 1:
            return LocalPieces((together,), self.groups, self.progress)
        of_row = group_ids(together, by) % self.groups
        split = (together.filter(pa.array(of_row == n)) for n in np.arange(self.groups))
        return LocalPieces(tuple(split), self.groups, self.progress)
