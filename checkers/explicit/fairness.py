"""Finds fair cycles: sets of states in which a fair behaviour can stay forever.

A behaviour that stays forever in a set visits a strongly connected set of nodes (states) infinitely
often. A single node is such a set, because a behaviour can stutter. An *instance* is a fair action
with values of its parameters. A set is *fair* if one of these conditions is true for each instance:

- an edge of the instance is inside the set;
- the instance is weakly fair, and disabled in some node of the set;
- the instance is strongly fair, and disabled in all nodes of the set.

If a strongly connected component satisfies none of these conditions for a weakly fair instance, the
component contains no fair set. If it satisfies none of them for a strongly fair instance, the nodes
that enable the instance are removed, and the remaining nodes are divided into components again.

This module is the oracle of `compiled.fair_cycles`.

Source: Emerson and Lei, Modalities for model checking, 1987; Lichtenstein and Pnueli, 1985.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from checkers.explicit.lassos import Mask
from checkers.explicit.transitions import Nodes, Transitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A fair action with values of its parameters: its edges, and the states in which it is
    enabled.
    """

    strong: bool
    edges: Nodes
    enabled: Nodes


@dataclass(frozen=True)
class Fairness:
    graph: Transitions

    @cached_property
    def instances(self) -> Sequence[Instance]:
        graph = self.graph
        order = np.argsort(graph.label, kind="stable")
        labels = graph.program.labels
        bounds = np.searchsorted(graph.label[order], np.arange(len(labels) + 1))
        found: list[Instance] = []
        for k, (action, _) in enumerate(labels):
            edges = order[bounds[k] : bounds[k + 1]]
            if action.fair is not None and len(edges):
                enabled = np.unique(graph.source[edges])
                found.append(Instance(strong=action.fair == "strong", edges=edges, enabled=enabled))
        return found

    def resting(self) -> Mask:
        """Returns a mask of the states in which no fair action leads to another state. A
        behaviour can stutter forever in such a state.
        """
        resting = np.ones(len(self.graph.states), dtype=bool)
        for instance in self.instances:
            resting[instance.enabled] = False
        return resting

    def path(self, begun: Mask, within: Mask, ends: Mask) -> list[int] | None:
        """Returns the edges of a shortest path through the graph, or None if there is no path.

        The path leads from an initial state to a state of `begun`, and from there through states of
        `within` to a state of `ends`. The path is empty if an initial state is in `begun`, `within`
        and `ends`.
        """
        graph = self.graph
        kept = np.flatnonzero(within[graph.source] & within[graph.target])
        entered, seen = begun & within, np.zeros_like(within)
        came = np.full(len(within), -1, dtype=np.int64)  # the edge to a node after `begun`
        deepest, level = int(graph.depths.max(initial=0)), 0
        stepped = np.zeros(0, dtype=np.int64)
        while level <= deepest or stepped.size:
            seen[stepped] = True
            here = entered & (graph.depths == level) & ~seen
            seen |= here
            here[stepped] = True
            if found := np.flatnonzero(here & ends).tolist():
                return self._joined(found[0], came)
            edges = kept[here[graph.source[kept]] & ~seen[graph.target[kept]]]
            stepped, firsts = np.unique(graph.target[edges], return_index=True)
            came[stepped] = edges[firsts]
            level += 1
        return None

    def _joined(self, node: int, came: Nodes) -> list[int]:
        way: list[int] = []
        while (edge := int(came[node])) >= 0:
            way.append(edge)
            node = int(self.graph.source[edge])
        return [*self.graph.path_to(node), *way[::-1]]

    def ends_of(self, edge: int) -> tuple[int, int]:
        return int(self.graph.source[edge]), int(self.graph.target[edge])

    def fair(self, within: Mask, through: Mask) -> Mask:
        """Returns a mask of the states that some fair behaviour visits infinitely often.

        From some state on, the behaviour must stay in the states of `within`. It must visit states
        of `through` infinitely often.
        """
        found = np.zeros_like(within)
        for nodes in self.sets(within, through):
            found[nodes] = True
        return found

    def sets(self, within: Mask, through: Mask) -> Iterator[Nodes]:
        """Yields the largest sets of states in which a fair behaviour can stay forever.

        Each set is a subset of `within`, and contains a state of `through`.
        """
        left = within
        while left.any():
            left, found = self._divided(left, through)
            yield from found

    def _divided(self, within: Mask, through: Mask) -> tuple[Mask, list[Nodes]]:
        source, target = self.graph.source, self.graph.target
        kept = within[source] & within[target]
        count, component = self._components(kept, len(within))
        size = len(within)
        sizes = np.bincount(component[within], minlength=count)
        inside = kept & (component[source] == component[target])
        failed = np.bincount(component[within & through], minlength=count) == 0
        again = np.zeros(count, dtype=bool)
        out = np.zeros(size, dtype=bool)
        for instance in self.instances:
            enabled = instance.enabled[within[instance.enabled]]
            where = np.bincount(component[enabled], minlength=count)
            edges = instance.edges[inside[instance.edges]]
            untaken = np.bincount(component[source[edges]], minlength=count) == 0
            if instance.strong:
                unfair = untaken & (where > 0)
                again |= unfair
                out[enabled[unfair[component[enabled]]]] = True
            else:
                failed |= untaken & (where == sizes)
        left = within & (again & ~failed)[component] & ~out
        good = within & ~(again | failed)[component]
        nodes = np.flatnonzero(good)
        order = nodes[np.argsort(component[nodes], kind="stable")]
        cuts = np.flatnonzero(np.diff(component[order])) + 1
        return left, [np.sort(s) for s in np.split(order, cuts)] if len(order) else []

    def _components(self, kept: Mask, size: int) -> tuple[int, Nodes]:
        source, target = self.graph.source[kept], self.graph.target[kept]
        matrix = coo_array((kept[kept], (source, target)), shape=(size, size))
        return connected_components(matrix, connection="strong")  # type: ignore[no-any-return]

    # ---- a fair cycle

    def cycle(self, start: int, fair: Mask, through: Mask) -> list[int]:
        """Returns the edges of a fair cycle that contains the state `start` and a state of
        `through`.

        `fair` is the result of the method `fair`: a union of sets of states in which a fair
        behaviour can stay forever. The cycle stays in one of these sets.
        """
        _, component = self._components(
            fair[self.graph.source] & fair[self.graph.target], len(fair)
        )
        inside = fair & (component == component[start])
        wanted = [self._needed(instance, inside) for instance in self.instances]
        wanted.append((frozenset(np.flatnonzero(through & inside).tolist()), frozenset()))
        open_ = [w for w in wanted if w is not None and start not in w[0]]
        walk: list[int] = []
        at = start
        while open_:
            ends = frozenset[int]().union(*(nodes for nodes, _ in open_))
            last = frozenset[int]().union(*(edges for _, edges in open_))
            walk += self.shortest_path(at, inside, ends.__contains__, last)
            at = int(self.graph.target[walk[-1]])
            open_ = [w for w in open_ if at not in w[0] and walk[-1] not in w[1]]
        return walk + (self.shortest_path(at, inside, lambda n: n == start) if at != start else [])

    def _needed(
        self, instance: Instance, inside: Mask
    ) -> tuple[frozenset[int], frozenset[int]] | None:
        """Returns a set of states and a set of edges. A cycle in `inside` is fair to `instance` if
        it contains one of these states or one of these edges.

        Returns None if every cycle in `inside` is fair to `instance`.
        """
        source, target = self.graph.source, self.graph.target
        edges = instance.edges
        taken = edges[inside[source[edges]] & inside[target[edges]]]
        idle = inside.copy()
        idle[instance.enabled] = False
        if instance.strong:
            if not inside[instance.enabled].any():
                return None
            idle[:] = False
        return frozenset(np.flatnonzero(idle).tolist()), frozenset(taken.tolist())

    def shortest_path(
        self,
        start: int,
        inside: Mask,
        end: Callable[[int], bool],
        last: frozenset[int] = frozenset(),
    ) -> list[int]:
        """Returns the edges of a shortest path from `start` that has at least one edge.

        The path ends in a state for which `end` returns True, or with an edge of `last`. All its
        states after `start` are in `inside`. Raises LookupError if there is no such path.
        """
        came: dict[int, int] = {}
        todo = deque([start])
        while todo:
            node = todo.popleft()
            for edge in self._leaving(node):
                other = int(self.graph.target[edge])
                if not inside[other]:
                    continue
                if edge in last or end(other):
                    return [*self._back(start, node, came), edge]
                if other not in came:
                    came[other] = edge
                    todo.append(other)
        raise LookupError(f"no path from node {start}")

    def _leaving(self, node: int) -> range:
        first, end = np.searchsorted(self.graph.source, [node, node + 1])
        return range(int(first), int(end))

    def _back(self, start: int, node: int, came: dict[int, int]) -> list[int]:
        way: list[int] = []
        while node != start:
            way.append(came[node])
            node = int(self.graph.source[came[node]])
        return way[::-1]
