"""Finds cycles of operations: strongly connected components, and a shortest cycle in each.

    c1 poll     -> ok k=a@0     op 0
    p1 send k=a -> ok @0        op 1

    wr            op 1 -> op 0                        op 0 polled a, which op 1 sent
    real time     op 0 -> completion of op 0 -> op 1  op 1 was invoked after op 0 had ended
    G1c-realtime  cycle op 0, op 1; component of 2

Operations depend on each other through records, by the order within a process, and by real time. A
graph with an edge for each pair of operations in real-time order would be too large. Instead, the
graph has an additional node for each operation that ended ok: its completion. An operation that
ended ok has an edge to its own completion. A completion has an edge to the next completion in time.
The latest completion before the invocation of an operation has an edge to this operation. So every
operation is reachable from all operations that ended ok before its invocation.

In a component of at most 256 operations, the search finds a shortest cycle. In a larger component,
it finds a shortest cycle through the operation with the lowest number.

Source: Elle's transitive reduction of real time, with an additional node for each completion;
`properties.anomalies.cycles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from checkers.histories.anomalies.cycles.record_dependencies import RW, WR, WW
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, member, run_lengths, run_starts
from properties.anomalies.cycles.components import SEARCHED, shortest_cycle
from properties.anomalies.cycles.cycle import FORMS, IMPLIES

EVERYTHING: Final = "G1c-realtime"  # the form that allows all dependencies
FEW_EDGES: Final = 250_000  # with fewer edges, a search in Python takes less than SciPy's import
KIND_OF: Final = {WW: "ww", WR: "wr", RW: "rw"}


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a dependency graph, in ascending order of their numbers.

    If the completion time of an operation is unknown, `completed_ns` is NEVER_NS.
    """

    numbers: Ints  # ascending
    process: Ints
    invoked_ns: Ints
    completed_ns: Ints
    ok: Mask

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class Component:
    members: Ints  # ascending
    records: Ints


@dataclass(frozen=True, slots=True)
class Graph:
    """The dependencies between operations through records: `second[i]` depends on `first[i]`."""

    of: Operations
    first: Ints
    second: Ints
    kind: Ints

    def components(self, form: str) -> list[Component]:
        """Returns the strongly connected components of the graph, if the graph has only the
        dependencies that a cycle of the form `form` may contain.

        For example, a cycle of the form `G1c` may contain ww and wr dependencies. A component
        without a dependency through a record is not returned.
        """
        kinds = FORMS[form]  # `G1c` allows `ww` and `wr`
        wanted = [number for number, kind in KIND_OF.items() if kind in kinds]
        records = np.flatnonzero(np.isin(self.kind, wanted))
        if not len(records):
            return []
        edges = [(self.first[records], self.second[records])]
        edges += _process_order_edges(self.of) if "process" in kinds else ()
        edges += _real_time_edges(self.of) if "realtime" in kinds else ()
        label = strong_components(
            edges, 2 * len(self.of)
        )  # nodes of completions follow those of operations
        first = label[self.first[records]]
        inside = records[first == label[self.second[records]]]
        ends = np.unique(np.r_[self.first[inside], self.second[inside]])
        members = ends[np.argsort(label[ends], kind="stable")]
        inside = inside[np.argsort(label[self.first[inside]], kind="stable")]
        parts = zip(
            _by_group(members, label[members]),
            _by_group(inside, label[self.first[inside]]),
            strict=True,
        )
        return sorted((Component(*part) for part in parts), key=lambda one: int(one.members[0]))

    def cycle(self, form: str, component: Component) -> Ints:
        """Returns the operations of a cycle in the component. The first operation has the lowest
        number.
        """
        members, records = component.members, component.records
        if len(members) == 2:
            return members
        if len(members) > SEARCHED:
            # No other cycle through the component's lowest operation is shorter.
            return _shortest_cycle_through_lowest(self, FORMS[form], component)
        graph: dict[int, set[int]] = {op: set() for op in members.tolist()}
        pairs = self.first[records].tolist(), self.second[records].tolist()
        for first, second in zip(*pairs, strict=True):
            graph[first].add(second)
        for first, row in zip(
            members.tolist(), _precedence(self.of, FORMS[form], members), strict=True
        ):
            graph[first].update(members[row].tolist())
        return np.array(shortest_cycle(graph, tuple(members.tolist())), dtype=np.int64)


def strong_components(edges: Sequence[tuple[Ints, Ints]], count: int) -> Ints:
    """Returns, for each node of a graph, the index of its strongly connected component."""
    first, second = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    if len(first) <= FEW_EDGES and _is_acyclic(first, second, count):
        return np.arange(count)
    from scipy.sparse import coo_array  # takes 0.25 s to import, and most histories have no cycle
    from scipy.sparse.csgraph import connected_components

    adjacency = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(count, count))
    _, label = connected_components(adjacency.tocsr(), directed=True, connection="strong")
    numbers: Ints = label.astype(np.int64)
    return numbers


def _is_acyclic(first: Ints, second: Ints, count: int) -> bool:
    after = second[np.argsort(first, kind="stable")].tolist()
    begin = np.r_[0, np.cumsum(np.bincount(first, minlength=count))].tolist()
    missing = np.bincount(second, minlength=count).tolist()  # predecessors that are not yet sorted
    in_order = [node for node in range(count) if not missing[node]]
    for node in in_order:  # it grows meanwhile
        for other in after[begin[node] : begin[node + 1]]:
            missing[other] -= 1
            if not missing[other]:
                in_order.append(other)
    return len(in_order) == count


def _by_group(numbers: Ints, groups: Ints) -> list[Ints]:
    return np.split(numbers, run_starts(groups)[1:]) if len(numbers) else []


def _precedence(of: Operations, kinds: tuple[str, ...], members: Ints) -> npt.NDArray[np.bool_]:
    """Returns a matrix: True if the operation of the row must precede the operation of the
    column.
    """
    first, second = members[:, None], members[None, :]
    led = np.zeros((len(members), len(members)), dtype=np.bool_)
    if "process" in kinds:
        led |= (of.process[first] == of.process[second]) & (first < second)
    if "realtime" in kinds:
        led |= of.completed_ns[first] < of.invoked_ns[second]
    pairs: npt.NDArray[np.bool_] = led & of.ok[first]
    return pairs


def _process_order_edges(of: Operations) -> Iterator[tuple[Ints, Ints]]:
    order = np.argsort(of.process, kind="stable")  # numbers ascend in a process
    starts = run_starts(of.process[order])
    begin = np.repeat(starts, run_lengths(starts, len(order)))
    place = np.arange(len(order))
    done = np.maximum.accumulate(np.where(of.ok[order], place, -1))
    before = np.r_[-1, done[:-1]][: len(order)]  # the previous operation that ended ok
    some = np.flatnonzero(before >= begin)
    yield order[before[some]], order[some]


def _real_time_edges(of: Operations) -> Iterator[tuple[Ints, Ints]]:
    done = np.flatnonzero(of.ok)
    order = done[np.argsort(of.completed_ns[done], kind="stable")]
    nodes = len(of) + order
    yield order, nodes
    yield nodes[:-1], nodes[1:]
    last = np.searchsorted(of.completed_ns[order], of.invoked_ns) - 1
    some = np.flatnonzero(last >= 0)
    yield nodes[last[some]], some


# ---------------------------------------------------------------- large components


def _shortest_cycle_through_lowest(
    graph: Graph, kinds: tuple[str, ...], component: Component
) -> Ints:
    of, members, start = graph.of, component.members, int(component.members[0])
    first, second = graph.first[component.records], graph.second[component.records]
    before: dict[int, int] = {}
    seen = np.zeros(len(of), dtype=np.bool_)
    seen[start] = True
    frontier = np.array([start], dtype=np.int64)
    while True:
        sends_back = np.unique(first[second == start])
        back = _precede(of, kinds, frontier, start) | member(frontier, sends_back)
        if back.any():
            path = [int(frontier[np.flatnonzero(back)[0]])]
            while path[-1] != start:
                path.append(before[path[-1]])
            return np.array(path[::-1], dtype=np.int64)
        rest = members[~seen[members]]
        parent = _first_predecessors(of, kinds, frontier, rest, first, second)
        found = parent < len(frontier)
        rest, parent = rest[found], parent[found]
        assert len(rest), "a component leads back to each of its operations"
        by_path = np.lexsort([rest, parent])
        beyond = rest[by_path]
        before.update(zip(beyond.tolist(), frontier[parent[by_path]].tolist(), strict=True))
        seen[beyond] = True
        frontier = beyond


def _precede(of: Operations, kinds: tuple[str, ...], frontier: Ints, end: int) -> Mask:
    led = np.zeros(len(frontier), dtype=np.bool_)
    if "process" in kinds:
        led |= (of.process[frontier] == of.process[end]) & (frontier < end)
    if "realtime" in kinds:
        led |= of.completed_ns[frontier] < of.invoked_ns[end]
    leads: Mask = led & of.ok[frontier]
    return leads


def _first_predecessors(
    of: Operations, kinds: tuple[str, ...], frontier: Ints, rest: Ints, first: Ints, second: Ints
) -> Ints:
    """Returns a position in `frontier` for each operation in `rest`: the lowest position of an
    operation on which the operation in `rest` depends.

    If `frontier` has no such operation, the position is the length of `frontier`.
    """
    # `frontier` has the operations that the breadth-first search reached last.
    none = len(frontier)
    place = np.full(len(of), none)
    place[frontier] = np.arange(none)
    best = np.full(len(of), none)
    np.minimum.at(best, second, place[first])
    parent = best[rest]
    ok = of.ok[frontier]
    if "realtime" in kinds:
        ended = np.where(ok, of.completed_ns[frontier], np.iinfo(np.int64).max)
        soonest = np.minimum.accumulate(ended)
        at = np.searchsorted(-soonest, -of.invoked_ns[rest], side="right")
        parent = np.minimum(parent, at)
    if "process" in kinds:
        for process in np.unique(of.process[frontier[ok]]).tolist():
            theirs = np.flatnonzero(ok & (of.process[frontier] == process))
            soonest = np.minimum.accumulate(frontier[theirs])
            some = np.flatnonzero(of.process[rest] == process)
            at = np.searchsorted(-soonest, -rest[some], side="right")
            led = at < len(theirs)
            parent[some[led]] = np.minimum(parent[some[led]], theirs[at[led]])
    return parent


# ---------------------------------------------------------------- the cycles of every form


@dataclass(frozen=True, slots=True)
class Shown:
    """A dependency cycle to report, and the number of operations in its strongly connected
    component.
    """

    cycle: Ints
    component: int


def cycles(graph: Graph) -> dict[str, list[Shown]]:
    """Returns the cycles to report, for each form of cycle. For example, the form `G0` allows ww
    dependencies, and `G1c` allows ww and wr.

    One cycle is reported for each strongly connected component of the allowed dependencies. If a
    component contains a `G0` cycle, no `G1c` cycle is reported for it.
    """
    everything = graph.components(EVERYTHING)
    if not everything:
        return {form: [] for form in FORMS}
    inside = _restricted_to(graph, everything)
    parts = {form: inside.components(form) for form in FORMS}
    whole = np.full(len(inside.of), -1)
    for number, component in enumerate(parts[EVERYTHING]):
        whole[component.members] = number
    of_form = {form: [int(whole[one.members[0]]) for one in parts[form]] for form in FORMS}
    found: dict[str, list[Shown]] = {}
    for form in FORMS:
        hidden = {place for stronger in IMPLIES[form] for place in of_form[stronger]}
        found[form] = [
            Shown(inside.of.numbers[inside.cycle(form, one)], len(one.members))
            for one, place in zip(parts[form], of_form[form], strict=True)
            if place not in hidden
        ]
    return found


def _restricted_to(graph: Graph, everything: list[Component]) -> Graph:
    of = graph.of
    kept = np.sort(np.concatenate([one.members for one in everything]))
    records = np.concatenate([one.records for one in everything])
    return Graph(
        Operations(
            numbers=of.numbers[kept],
            process=of.process[kept],
            invoked_ns=of.invoked_ns[kept],
            completed_ns=of.completed_ns[kept],
            ok=of.ok[kept],
        ),
        np.searchsorted(kept, graph.first[records]),
        np.searchsorted(kept, graph.second[records]),
        graph.kind[records],
    )
