"""The sizes of a spec's sorts as text, and the choice of arguments if a sort has many elements.

A sort is a finite type, such as `Replica`. The *scope* of the spec has the number of elements of
every sort, as in `Replica=3,Offset=185`. A sort is *wide* if it has more than `WIDE` elements. If a
sort is wide, only its elements near the values in the state are tried as arguments (`near`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from model.faults import InputFault, UnknownName
from model.language import terms as t
from model.language.rows import Held, Row, RowState
from model.language.scope import Ranges
from model.language.spec import Spec

WIDE: Final = 32
LARGEST_KEY: Final = 100_000  # elements of a sort that is a key of a variable
LARGEST: Final = 2**63  # elements of a sort whose elements are only values


def scope_ranges(spec: Spec, text: str) -> Ranges:
    """Returns the elements of each sort (a finite type), from a text such as `Replica=3,Offset=4`.

    Sorts that the text does not name have their default sizes. Raises InputFault if the text names
    an unknown sort, or if a size is not allowed.
    """
    usual = {
        sort if isinstance(sort, str) else sort.__name__: size
        for sort, size in spec.scope().items()
    }
    found = {n: s if isinstance(s, range) else range(s) for n, s in usual.items()}
    keys = {key.name for variable in spec.variables for key in variable.keys}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if name not in found:
            raise UnknownName("sort in the scope", name, found)
        most = LARGEST_KEY if name in keys else LARGEST
        if not size.isdecimal() or not 1 <= int(size) <= most:
            raise InputFault(f"scope {part}: write SORT=ELEMENTS, with a number from 1 to {most:,}")
        start = found[name].start
        found[name] = range(start, start + int(size))
    return {"Bool": range(2), **found}


def scope_text(scope: Mapping[str, int]) -> str:
    return ",".join(f"{sort}={size}" for sort, size in scope.items())


def is_wide(elements: range) -> bool:
    return elements.stop - elements.start > WIDE


def near(state: RowState, sort: t.SortInfo, spec: Spec, ranges: Ranges) -> list[int]:
    """Returns some elements of a large sort: the elements that are values in the state, their
    neighbours, and the least element of the sort.

    A variable that is indexed by a large sort has too many values, so its values are ignored. If
    every variable with values of the sort is ignored for this reason, the result has only two
    elements: the least element, and the successor of the greatest value of the ignored variables.
    This successor is left out if it is no element.
    """
    elements = ranges[sort.name]
    of_sort = [v for v in spec.variables if v.value.name == sort.name]
    plain = [v for v in of_sort if not any(is_wide(ranges[key.name]) for key in v.keys)]
    found = {elements.start}
    for variable in plain or of_sort:
        found.update(_values(state.held[variable.name]))
    if plain:
        found |= {value + step for value in found for step in (-1, 1)}
    else:
        found = {elements.start, max(found) + 1}
    return sorted(value for value in found if value in elements)


def _values(held: Held) -> Iterator[int]:
    if isinstance(held, Row):
        for inner in held:
            yield from _values(inner)
    elif held is not None:
        yield int(held)
