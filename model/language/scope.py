"""A finite scope: the number of elements of each sort (type), or its range of integers.

Exploration needs a scope, and a proof needs no scope. A scope identifies a sort by its class or by
its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from model.language.expressions import SpecError

if TYPE_CHECKING:
    Scope = Mapping[Any, int | range]  # sort -> number of elements, or range of integers
else:
    Scope = dict  # so that a spec's `return Scope()` returns an empty scope
Ranges = Mapping[str, range]  # the name of a sort -> its elements, least first

LARGEST_SORT = 255  # elements: with `nothing` they still fit into one byte of a packed state


def check_scope(scope: object) -> None:
    """Raises SpecError if the scope does not map sorts to numbers of elements or ranges."""
    entries = scope.items() if isinstance(scope, Mapping) else None
    if entries is None or not all(
        isinstance(sort, str | type) and isinstance(size, int | range) for sort, size in entries
    ):
        raise SpecError(
            f"scope returns {scope!r}\n"
            "  return the number of elements of each sort, for example {Replica: 2}"
        )


def ranges_of(scope: Scope) -> Ranges:
    """Returns a map from the name of each sort to the range of its elements. The sort Bool is
    added.

    `{Replica: 3}` gives `{"Bool": range(2), "Replica": range(3)}`. Raises SpecError for a sort
    without elements, or with more than 255 elements.
    """
    out = {"Bool": range(2)}
    for sort, size in scope.items():
        name = sort if isinstance(sort, str) else sort.__name__
        elements = size if isinstance(size, range) else range(size)
        if elements.step != 1 or not 1 <= len(elements) <= LARGEST_SORT:
            raise SpecError(
                f"the scope gives {name} the elements {elements}\n"
                f"  an explored sort has between 1 and {LARGEST_SORT} consecutive elements"
            )
        out[name] = elements
    return out
