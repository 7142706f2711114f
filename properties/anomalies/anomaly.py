"""An anomaly: a statement about histories, a checker that finds violations, and their text.

The module of an anomaly defines five things:

- a dataclass, whose fields describe one violation;
- the literal definition: a simple function that finds the violations in a history;
- `observed`: a function that returns the number of observations in which the anomaly could occur,
  such as the number of polled values;
- `explain`: a function that returns the text of a violation;
- `ANOMALY`: the entry of the anomaly in the catalogue. If the entry depends on declarations of the
  user, the module has a function `anomaly` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

from model.histories import History, Operation


class Row(Protocol):
    """One occurrence of an anomaly in a history. The class is an ordered frozen dataclass, and its
    fields are numbers, strings and tuples.
    """

    @property
    def size(self) -> int:
        """The severity of the violation. A report lists the violations with the largest `size`
        first.
        """
        ...

    @property
    def ops(self) -> tuple[int, ...]:
        """The numbers of the operations that together prove the violation."""
        ...

    def __lt__(self, other: Self, /) -> bool: ...


RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A statement about the observations of clients that must never be true, and its checker.

    - `permits` has the conditions (such as `ww-deps`) under which the anomaly is no violation. It
      maps each condition to the reason.
    - `observed` returns the number of observations in which the anomaly could occur.
    - `observes` is the noun for these observations in texts, such as `values polled`.
    - `only_with` is the name of the option that makes the analysis look for this anomaly. If it is
      None, the analysis always looks for the anomaly.
    - `made_of` has the names of other anomalies. Each occurrence of one of them is also an
      occurrence of this anomaly.
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
    """Returns the violations in order: the largest `size` first, and violations of equal size by
    their fields.
    """
    return tuple(sorted(sorted(rows), key=lambda row: -row.size))
