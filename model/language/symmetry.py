"""The symmetric sorts (types) of a spec: those whose elements are interchangeable.

The term for the least element of a sort distinguishes this element from the others. So a sort is
symmetric if no action and no property contains this term. The initial condition may contain the
term. If the elements are permuted in the initial state, every behaviour is permuted in the same
way, and the same properties hold.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.language import terms as t
from model.language.spec import Spec


def symmetric(spec: Spec) -> tuple[str, ...]:
    """Returns the names of the spec's symmetric types: their elements are interchangeable."""
    named = {n.sort.name for n in _terms(spec) if isinstance(n, t.Least) and not n.sort.optional}
    used = {s.name for v in spec.variables for s in (*v.keys, v.value) if s.flavour == "sort"}
    return tuple(sorted(used - named))


def _terms(spec: Spec) -> Iterator[t.Node]:
    roots: list[t.Node] = [c.formula for c in (*spec.claims, *spec.action_properties)]
    roots += [c.formula for c in spec.witnesses]
    for action in spec.actions:
        roots += [g.formula for g in action.guards]
        roots += [x for w in action.writes for x in (*w.keys, w.condition, w.value)]
    return (n for root in roots for n in t.walk(root))
