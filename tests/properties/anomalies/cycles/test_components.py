"""Strongly connected components and shortest cycles agree with networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from properties.anomalies.cycles import components as room
from properties.anomalies.cycles.components import (
    SEARCHED,
    components,
    shortest_cycle,
    shortest_path,
)

GRAPHS = st.dictionaries(
    st.integers(0, 9), st.frozensets(st.integers(0, 9), max_size=4), max_size=10
).map(lambda graph: {v: out - {v} for v, out in graph.items()})


def digraph(graph: room.Graph) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(graph)
    made.add_edges_from((v, successor) for v, out in graph.items() for successor in out)
    return made


@given(GRAPHS)
def test_components_agree_with_networkx(graph: room.Graph) -> None:
    theirs = nx.strongly_connected_components(digraph(graph))
    assert components(graph) == sorted(tuple(sorted(c)) for c in theirs if len(c) > 1)


@given(GRAPHS)
def test_the_shortest_cycle_is_the_lexicographically_least_one(graph: room.Graph) -> None:
    made = digraph(graph)
    for component in components(graph):
        rotated = []
        for cycle in nx.simple_cycles(made.subgraph(component)):
            least = cycle.index(min(cycle))
            rotated.append((*cycle[least:], *cycle[:least]))
        assert shortest_cycle(graph, component) == min(rotated, key=lambda c: (len(c), c))


@given(GRAPHS, st.integers(0, 9), st.integers(0, 9))
def test_the_shortest_path_is_the_lexicographically_least_one(
    graph: room.Graph, start: int, end: int
) -> None:
    made = digraph({**graph, start: graph.get(start, frozenset())})
    path = shortest_path(graph, start, end, range(10))
    if start == end:
        assert (path == ()) == (not any(start in c for c in components(graph)))
    elif end in made and nx.has_path(made, start, end):
        assert path == min(tuple(p) for p in nx.all_shortest_paths(made, start, end))
    else:
        assert path == ()


def test_a_large_component_gives_a_shortest_cycle_through_its_least_vertex() -> None:
    ring = {v: {v + 1} for v in range(SEARCHED + 2)}
    ring[SEARCHED + 2] = {0, SEARCHED + 1}
    (component,) = components(ring)
    assert shortest_cycle(ring, component) == component
    small = {v: out for v, out in ring.items() if v > SEARCHED - 2}
    assert shortest_cycle(small, tuple(small)) == (SEARCHED + 1, SEARCHED + 2)
