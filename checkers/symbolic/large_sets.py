"""The assumption of proofs about large sets: a large set with one more element is a large set.

A set is *large* if it has at least k elements. A proof for any number of elements cannot count
elements. So in a proof, the large sets are an arbitrary family of sets with one assumption: if a
set is in the family, each superset of the set is in the family, too. A test checks this assumption
for up to `UP_TO` elements.

So a claim is proved for every k at once, and "fewer than k" means "not at least k". For example,
each large set of replicas contains a replica that stopped cleanly, if fewer than k replicas stopped
uncleanly.

If k is an element of an ordered type, there is one family for each element. A second assumption
(`assumption_of_order`) says that a set with at least k elements also has at least j elements for
each smaller j. So k may change between two states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

UP_TO = 6  # elements


def assumption(sort: str, number: int | str) -> str:
    return (
        f"a set with at least {number} elements of {sort} stays so when elements join"
        f" (true of all sets up to {UP_TO} elements)"
    )


def assumption_of_order(sort: str, numbers: str) -> str:
    return (
        f"a set with at least k elements of {sort} has at least j elements, if j <= k are of"
        f" {numbers} (true of all sets up to {UP_TO} elements)"
    )


def large_sets(size: int, number: int) -> Iterator[frozenset[int]]:
    for chosen in product((False, True), repeat=size):
        if sum(chosen) >= number:
            yield frozenset(i for i, is_in in enumerate(chosen) if is_in)


def not_growing(size: int, sets: list[frozenset[int]]) -> list[tuple[frozenset[int], int]]:
    """Returns each pair of a set and an element for which the set plus the element is not in
    `sets`. The elements are the integers below `size`.

    Proofs assume that a large set stays large when an element joins. If `sets` are the large sets
    and the result is empty, the assumption is true.
    """
    family = set(sets)
    return [(one, i) for one in sets for i in range(size) if one | {i} not in family]


def not_ordered(
    families: Mapping[int, list[frozenset[int]]],
) -> list[tuple[int, int, frozenset[int]]]:
    """Returns each triple `(j, k, set)` with `j <= k`, if the set is in the family of `k` but not
    in the family of `j`.

    Proofs assume that a set in the family of a number is in the family of each smaller number. If
    the result is empty, this assumption is true of `families`.
    """
    return [
        (j, k, one)
        for k, sets in families.items()
        for one in sets
        for j, smaller in families.items()
        if j <= k and one not in smaller
    ]
