"""The assumption of proofs about majorities: any two majorities share an element.

A proof for any number of elements, such as replicas, cannot count elements. So it uses *quorums* in
place of majorities. Quorums are arbitrary sets, with the assumption that any two quorums share an
element.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

UP_TO = 6  # elements


def assumption(sort: str) -> str:
    return (
        f"any two majorities of {sort} share an element (true of all pairs up to {UP_TO} elements)"
    )


def majorities(size: int) -> Iterator[frozenset[int]]:
    for chosen in product((False, True), repeat=size):
        if 2 * sum(chosen) > size:
            yield frozenset(i for i, is_in in enumerate(chosen) if is_in)


def disjoint(sets: list[frozenset[int]]) -> list[tuple[frozenset[int], frozenset[int]]]:
    return [(a, b) for a, b in product(sets, repeat=2) if not a & b]
