"""States that differ only in which element is which: one of them is enough.

Elements of a sort that is neither ordered nor a range can only be told apart, so exchanging them
everywhere in a state makes another state, with the same future up to the same exchange. A spec can
break that in one way: by the least element of such a sort, where a term names it. A sort is
*symmetric* when no term of an action or a claim does; where an initial state happens to have it
does not matter, as all that follows is exchanged with it.

Liveness is refused together with it: a cycle of representatives is no cycle of states.

Source: Clarke, Enders, Filkorn and Jha, Exploiting symmetry in temporal logic model checking, 1996.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from math import factorial, prod

from checkers.explicit.instance import Instance
from model.language import terms as t
from model.language.expressions import SpecError
from model.language.spec import Spec

MOST = 200  # exchanges: each costs a key for every state that is reached
Exchange = Mapping[str, tuple[int, ...]]  # sort -> which element each becomes, counted from 0


def symmetric(spec: Spec) -> tuple[str, ...]:
    """The names of the symmetric sorts that states speak of."""
    named = {n.sort.name for n in _terms(spec) if isinstance(n, t.Least) and not n.sort.optional}
    spoken = {s.name for v in spec.variables for s in (*v.keys, v.value) if s.flavour == "sort"}
    return tuple(sorted(spoken - named))


def _terms(spec: Spec) -> Iterator[t.Node]:
    roots: list[t.Node] = [c.formula for c in (*spec.claims, *spec.action_properties)]
    roots += [c.formula for c in spec.witnesses]
    for action in spec.actions:
        roots += [g.formula for g in action.guards]
        roots += [x for w in action.writes for x in (*w.keys, w.condition, w.value)]
    return (n for root in roots for n in t.walk(root))


def exchanges(at: Instance, sorts: Sequence[str]) -> list[Exchange]:
    """Every way to exchange elements of these sorts, the one that changes nothing first.

    Raises SpecError where there are too many.
    """
    sizes = [len(at.ranges[name]) for name in sorts]
    count = prod(map(factorial, sizes))
    if count > MOST:
        raise SpecError(
            f"{count:,} ways to exchange {', '.join(sorts)}: more than {MOST}"
            "\n  explore without symmetry, or make the scope smaller"
        )
    ways = product(*(permutations(range(size)) for size in sizes))
    return [dict(zip(sorts, way, strict=True)) for way in ways]


def exchanged(at: Instance, exchange: Exchange) -> list[tuple[int, list[int]]]:
    """For each cell where its value goes, and what each of its packed values becomes there."""
    place = {cell: k for k, (cell, _) in enumerate(at.cells)}
    keys = {v.name: v.keys for v in at.spec.variables}
    out: list[tuple[int, list[int]]] = []
    for (name, key), sort in at.cells:
        moved = tuple(
            exchange[s.name][k] if s.name in exchange else k
            for k, s in zip(key, keys[name], strict=True)
        )
        becomes = list(range(at.size(sort)))
        if sort.name in exchange:
            offset = int(sort.optional)
            becomes[offset:] = [x + offset for x in exchange[sort.name]]
        out.append((place[name, moved], becomes))
    return out
