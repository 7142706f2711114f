"""The assumption about large sets in proofs: a set with at least k elements stays so as it grows.

A proof for any number of elements cannot count. So it replaces the sets with at least k elements by
any family of sets that has each superset of its sets. For a sort with few elements this assumption
is checked here: for every k, and for every set and element.

The proof states nothing else about the family. So a claim is proved for each k at once, and "fewer
than k" is "not at least k". For example, if fewer than k replicas stop uncleanly, each set of at
least k replicas has one that did not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

UP_TO = 6  # elements


def assumption(sort: str, number: int) -> str:
    """Returns the assumption about the sets with at least `number` elements, in words."""
    return (
        f"a set with at least {number} elements of {sort} stays so when elements join"
        f" (true of all sets up to {UP_TO} elements)"
    )


def large_sets(size: int, number: int) -> Iterator[frozenset[int]]:
    """Yields all sets of at least `number` among `size` elements."""
    for chosen in product((False, True), repeat=size):
        if sum(chosen) >= number:
            yield frozenset(i for i, is_in in enumerate(chosen) if is_in)


def not_growing(size: int, sets: list[frozenset[int]]) -> list[tuple[frozenset[int], int]]:
    """Returns the sets that leave the family when an element joins, each with this element."""
    family = set(sets)
    return [(one, i) for one in sets for i in range(size) if one | {i} not in family]
