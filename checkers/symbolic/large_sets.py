"""The assumption about large sets in proofs: a large set with one more element is large too.

A set is *large* if it has at least k elements. A proof for any number of elements cannot count
them, so the large sets are an arbitrary family, with one assumption: each superset of a set in the
family is in it too. A test checks this for up to `UP_TO` elements.

So a claim is proved for each k at once, and "fewer than k" is "not at least k". For example, if
fewer than k replicas stop uncleanly, each set of at least k replicas has one that did not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

UP_TO = 6  # elements


def assumption(sort: str, number: int) -> str:
    return (
        f"a set with at least {number} elements of {sort} stays so when elements join"
        f" (true of all sets up to {UP_TO} elements)"
    )


def large_sets(size: int, number: int) -> Iterator[frozenset[int]]:
    for chosen in product((False, True), repeat=size):
        if sum(chosen) >= number:
            yield frozenset(i for i, is_in in enumerate(chosen) if is_in)


def not_growing(size: int, sets: list[frozenset[int]]) -> list[tuple[frozenset[int], int]]:
    """Returns each (set, element) such that the set plus the element is not in `sets`.

    The elements are the integers below `size`.
    """
    family = set(sets)
    return [(one, i) for one in sets for i in range(size) if one | {i} not in family]
