"""Random state graphs: specs with one variable, whose actions move a token along drawn edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from model.language import Int, Scope, Spec
from model.language import terms as t
from model.language.actions import Action, Guard, Liveness


class Place(Int):
    pass


class Graph(Spec):
    """A token moves along the edges of a graph; each edge is a step of one of the actions."""

    at: Place

    def scope(s) -> Scope:
        return {Place: range(4)}


class Scattered(Graph):
    """A graph of which every node is an initial state."""

    def init(s, x: Place) -> None:
        s.at = x


AT = Graph().variables[0]
Edge = tuple[int, int]
Drawn = tuple[Mapping[str, frozenset[Edge]], frozenset[int], frozenset[int]]


def place(k: int) -> t.Node:
    return t.Const(k, Place.info)


def among(nodes: frozenset[int]) -> t.Node:
    return t.Or(tuple(t.Eq(t.Get(AT, ()), place(k)) for k in sorted(nodes)))


def spec_of(
    edges: Mapping[str, frozenset[Edge]],
    p: frozenset[int],
    q: frozenset[int],
    make: type[Graph] = Graph,
) -> Graph:
    """Returns a spec whose actions move a token along the edges of a graph.

    `edges` has a set of edges for each kind of fairness. Two edges from one node belong to two
    actions, because an action has at most one target for each node.
    """
    spec, made = make(), []
    for name, drawn in edges.items():
        for k, following in enumerate(_functions(drawn)):
            act = Action(f"{name}{k}", "", (), fair=FAIR[name])
            act.guards.append(Guard(among(frozenset(following)), 0))
            value = place(0)
            for here, there in following.items():
                value = t.Ite(t.Eq(t.Get(AT, ()), place(here)), place(there), value)
            act.writes.append(t.Write(AT, (), (), t.Const(1, t.BOOL), value))
            made.append(act)
    goal, premise = among(q), among(p)
    spec.__dict__["actions"] = tuple(made)
    spec.__dict__["liveness_properties"] = (
        Liveness("leads", "", (), "leads to", premise, goal),
        Liveness("once", "", (), "eventually", premise, goal),
        Liveness("settles", "", (), "eventually always", premise, goal),
    )
    return spec


FAIR: Mapping[str, Any] = {"weak": "weak", "strong": "strong", "free": None}


def _functions(edges: frozenset[Edge]) -> Iterator[dict[int, int]]:
    left = sorted(edges)
    while left:
        made: dict[int, int] = {}
        for here, there in left:
            made.setdefault(here, there)
        yield made
        left = [e for e in left if made[e[0]] != e[1]]


@st.composite
def graphs(draw: Callable[[st.SearchStrategy[Any]], Any], *, nodes: int, edges: range) -> Drawn:
    """Draws a set of edges for each kind of fairness, and two sets of nodes. The size of a set of
    edges is in the range `edges`.
    """
    node = st.integers(0, nodes - 1)
    some = st.frozensets(st.tuples(node, node), min_size=edges[0], max_size=edges[-1])
    drawn = {name: draw(some) for name in FAIR}
    return drawn, draw(st.frozensets(node)), draw(st.frozensets(node, max_size=nodes // 2))
