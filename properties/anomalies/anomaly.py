"""An anomaly: a statement about histories, a checker that finds violations, and their text.

Each anomaly is a module with five parts:

- a dataclass: the fields of one violation;
- the literal definition, which finds the violations;
- `observed`: the number of observations in which the anomaly could occur, such as polled values;
- `explain`: the text of a violation;
- `ANOMALY`: the entry of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from model.histories import History, Operation


class Row(Protocol):
    """One occurrence of an anomaly: an ordered frozen dataclass of numbers, strings and tuples."""

    @property
    def size(self) -> int:
        """The severity of the violation; reports list the largest number first."""
        ...

    @property
    def ops(self) -> tuple[int, ...]:
        """The numbers of the operations that together prove the violation."""
        ...

    def __lt__(self, other: Self, /) -> bool: ...


RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A statement about clients' observations that must never be true, and its checker.

    - `permits` has the conditions (such as `ww-deps`) under which the anomaly is no violation, each
      with the reason.
    - `observed` counts the observations in which the anomaly could occur.
    - `observes` is the noun for these observations in texts, such as `values polled`.
    - `only_with` names the option without which the analysis does not look for this anomaly.
    - `made_of` names other anomalies: each of their occurrences is an occurrence of this anomaly.
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
    """Returns the violations by decreasing `size`, then by their fields."""
    return tuple(sorted(sorted(rows), key=lambda row: -row.size))
