"""What an anomaly is: a statement about histories, what finds its breaches, and how to tell them.

Each anomaly is a module: the row that shows a breach, the literal definition that finds the rows,
what `observed` counts, how a row is explained, and the anomaly itself as a row of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from model.histories import History, Operation


class Row(Protocol):
    """One breach: an orderable frozen dataclass of numbers, strings and tuples of these."""

    @property
    def size(self) -> int:
        """How bad it is: rows are told the greatest first."""
        ...

    @property
    def ops(self) -> tuple[int, ...]:
        """The operations that show it."""
        ...

    def __lt__(self, other: Self, /) -> bool: ...


RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One thing that clients must never observe.

    `permits` tells under which condition (`Declarations.conditions`) it is no fault, and why.
    `observes` says what `observed` counts: the observations that a verdict rests on. What has
    `only_with` nothing can show unless that condition is declared. What is `made_of` others is
    their rows under one name.
    """

    id: str
    statement: str
    rule: str
    explanation: str
    permits: Mapping[str, str]
    source: str
    observes: str
    row: type[Any]  # a dataclass that is a `Row`
    # functions are not compared: anomalies that say the same are the same
    find: Callable[[History], tuple[Any, ...]] = field(compare=False)  # rows, in their order
    observed: Callable[[History], int] = field(compare=False)
    explain: Callable[[Any, Mapping[int, Operation]], str] = field(compare=False)  # of a row
    only_with: str | None = None
    made_of: tuple[str, ...] = ()


def worst_first(rows: Iterable[RowT]) -> tuple[RowT, ...]:
    """The rows by size, greatest first; rows of one size in their own order."""
    return tuple(sorted(sorted(rows), key=lambda row: -row.size))
