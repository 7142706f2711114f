"""What an anomaly is: a statement about histories, a checker that finds violations, and their text.

Each anomaly is a module with five parts: the row that describes one violation, the literal
definition that finds the rows, the count of the observations that were checked (`observed`), the
rendering of a row (`explain`), and the anomaly itself as an entry of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from model.histories import History, Operation


class Row(Protocol):
    """One violation: an orderable frozen dataclass of numbers, strings and tuples of these."""

    @property
    def size(self) -> int:
        """Returns how severe the violation is; reports list the largest first."""
        ...

    @property
    def ops(self) -> tuple[int, ...]:
        """Returns the numbers of the operations that show the violation."""
        ...

    def __lt__(self, other: Self, /) -> bool: ...


RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One thing that clients must never observe.

    `permits` maps a condition (`Declarations.conditions`) to the reason why the anomaly is no fault
    under that condition. `observes` names the observations that `observed` counts: a verdict rests
    on them. An anomaly with `only_with` can be found only if that condition is declared. An anomaly
    with `made_of` collects the rows of the anomalies listed there.
    """

    id: str
    statement: str
    rule: str
    explanation: str
    permits: Mapping[str, str]
    source: str
    observes: str
    row: type[Any]  # a dataclass that is a `Row`
    # functions are not compared: anomalies with equal texts are equal
    find: Callable[[History], tuple[Any, ...]] = field(compare=False)  # rows, sorted
    observed: Callable[[History], int] = field(compare=False)
    explain: Callable[[Any, Mapping[int, Operation]], str] = field(compare=False)  # of a row
    only_with: str | None = None
    made_of: tuple[str, ...] = ()


def worst_first(rows: Iterable[RowT]) -> tuple[RowT, ...]:
    """Returns the rows by decreasing size; rows of equal size stay in their own order."""
    return tuple(sorted(sorted(rows), key=lambda row: -row.size))
