"""A finite scope: how many elements each sort has, or which integers.

Exploration needs one; a proof needs none. Sorts are named by their class, or by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.language.expressions import SpecError

Scope = Mapping[Any, int | range]  # a sort -> how many elements, or which integers
Ranges = Mapping[str, range]  # the name of a sort -> its elements, least first

LARGEST_SORT = 255  # elements: with `nothing` they still fit into one byte of a packed state


def ranges_of(scope: Scope) -> Ranges:
    """The elements of every sort of the scope, by name; Bool has two.

    Raises SpecError for a sort without elements, or with more than 255.
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
