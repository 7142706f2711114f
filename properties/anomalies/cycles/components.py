"""Strongly connected components of a graph, and a shortest cycle of a component.

Two vertices are in the same component if paths lead in both directions between them. So every cycle
is inside one component.

Source: Tarjan, "Depth-first search and linear graph algorithms", 1972, without the recursion.
Simplified: if a component has more vertices than the limit `SEARCHED`, `shortest_cycle` returns a
shortest cycle through the least vertex. This needs one search, instead of one search per vertex.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

Graph = Mapping[int, AbstractSet[int]]  # vertex -> the vertices that edges from it lead to

SEARCHED: Final = 256


def components(graph: Graph) -> list[tuple[int, ...]]:
    """Returns the strongly connected components with two or more vertices.

    The vertices of each component, and the components themselves, are in ascending order.

    >>> components({1: {2}, 2: {3}, 3: {2}})
    [(2, 3)]
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[tuple[int, ...]] = []
    for root in graph:
        path: list[tuple[int, Iterator[int]]] = []

        def enter(vertex: int, path: list[tuple[int, Iterator[int]]] = path) -> None:
            index[vertex] = low[vertex] = len(index)
            stack.append(vertex)
            on_stack.add(vertex)
            path.append((vertex, iter(graph.get(vertex, ()))))

        if root not in index:
            enter(root)
        while path:
            vertex, successors = path[-1]
            for successor in successors:
                if successor not in index:
                    enter(successor)
                    break
                if successor in on_stack:
                    low[vertex] = min(low[vertex], index[successor])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    at = stack.index(vertex)
                    members = stack[at:]
                    del stack[at:]
                    on_stack.difference_update(members)
                    if len(members) > 1:
                        found.append(tuple(sorted(members)))
    return sorted(found)


def shortest_path(graph: Graph, start: int, end: int, within: Collection[int]) -> tuple[int, ...]:
    """Returns a shortest path from `start` to `end`. The path includes both vertices. Returns () if
    there is no path.

    Every vertex between `start` and `end` must be in `within`. If there are several shortest paths,
    the function returns the first of them in lexicographic order.
    """
    before: dict[int, int] = {}
    frontier = [start]  # vertices at equal distance are ordered by the least path to them
    while frontier:
        beyond: list[int] = []
        for vertex in frontier:
            for successor in sorted(graph.get(vertex, ())):
                if successor == end:
                    return (*_back(before, start, vertex), end)
                if successor in within and successor not in before and successor != start:
                    before[successor] = vertex
                    beyond.append(successor)
        frontier = beyond
    return ()


def _back(before: Mapping[int, int], start: int, vertex: int) -> tuple[int, ...]:
    path = [vertex]
    while path[-1] != start:
        path.append(before[path[-1]])
    return tuple(reversed(path))


def shortest_cycle(graph: Graph, component: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the vertices of a shortest cycle in the component. The first vertex is the least one
    of the cycle.

    If there are several shortest cycles, the function returns the first of them in lexicographic
    order. If the component has more than `SEARCHED` vertices, only cycles through the component's
    least vertex are considered.

    >>> shortest_cycle({1: {2}, 2: {3}, 3: {1, 2}}, (1, 2, 3))
    (2, 3)
    """
    best: tuple[int, ...] = ()
    starts = component if len(component) <= SEARCHED else component[:1]
    for start in starts:
        within = {vertex for vertex in component if vertex > start}
        cycle = shortest_path(graph, start, start, within)[:-1]
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
    return best
