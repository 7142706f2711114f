"""Symmetry reduction: explores one state of each class of states that differ only by a permutation.

The elements of an unordered sort (a finite type), such as brokers, are interchangeable. If two
states differ only by a permutation of these elements, then their behaviours differ only by this
permutation. So it is enough to explore one of the two states.

A sort is *symmetric* only if no action and no claim names its least element. The initial states may
name it.

Symmetry reduction cannot check liveness: a cycle of the reduced graph may not exist in the full
graph.

Source: Clarke, Enders, Filkorn and Jha, Exploiting symmetry in temporal logic model checking, 1996.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import factorial, prod

from checkers.explicit.instance import Instance
from model.language.expressions import SpecError

MOST = 200  # permutations: each costs one more key for every reached state
Permutation = Mapping[str, tuple[int, ...]]  # sort -> the new index of each element


def permutations_of(at: Instance, sorts: Sequence[str]) -> list[Permutation]:
    """Returns every permutation of the elements of these types. The first permutation is the
    identity.

    Raises SpecError if there are too many permutations.
    """
    sizes = [len(at.ranges[name]) for name in sorts]
    count = prod(map(factorial, sizes))
    if count > MOST:
        raise SpecError(
            f"{count:,} permutations of {', '.join(sorts)}, but --symmetry allows {MOST}\n"
            "  explore without --symmetry, or make the scope smaller"
        )
    ways = product(*(permutations(range(size)) for size in sizes))
    return [dict(zip(sorts, way, strict=True)) for way in ways]


def permuted(at: Instance, permutation: Permutation) -> list[tuple[int, list[int]]]:
    """Returns a pair for each byte of a state: the position to which the permutation moves the
    byte, and a list that maps each old value of the byte to its new value.

    For example, the permutation swaps b1 and b2. It moves the byte of `leader[b1]` to the position
    of `leader[b2]`, and its list of values is `[1, 0]`: 0 becomes 1, and 1 becomes 0.
    """
    place = {cell: k for k, (cell, _) in enumerate(at.cells)}
    keys = {v.name: v.keys for v in at.spec.variables}
    out: list[tuple[int, list[int]]] = []
    for (name, key), sort in at.cells:
        moved = tuple(
            permutation[s.name][k] if s.name in permutation else k
            for k, s in zip(key, keys[name], strict=True)
        )
        becomes = list(range(at.size(sort)))
        if sort.name in permutation:
            offset = int(sort.optional)
            becomes[offset:] = [x + offset for x in permutation[sort.name]]
        out.append((place[name, moved], becomes))
    return out
