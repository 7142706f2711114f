"""Finds the symmetric sorts (types) of a spec: the sorts whose elements are interchangeable.

A sort is symmetric if no action and no property contains the term for its least element, because
this term distinguishes the least element. The initial condition may contain the term. If elements
are exchanged in an initial state, they are exchanged in all behaviours from this state, and the
behaviours satisfy the same properties.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.language import terms as t
from model.language.spec import Spec


def symmetric(spec: Spec) -> tuple[str, ...]:
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
