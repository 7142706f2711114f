"""Cycles of operations that must precede each other, classified by the dependencies on the cycle.

Each row of this table has the name of a form of cycle, the kinds of dependency that a cycle of this
form may have, and the meaning of the form:

    G0            ww                         writes of two operations interleave, in both orders
    G1c           ww, wr                     information flows in a cycle
    G-single      ww, wr, one rw             an operation missed a record, and saw one after it
    G2            ww, wr, rw                 several operations each missed what another one wrote
    G0-process    ww, process                as G0, also by the order within each process
    G1c-process   ww, wr, process            as G1c, also by the order within each process
    G0-realtime   ww, process, realtime      as G0-process, also by the order in real time
    G1c-realtime  ww, wr, process, realtime  as G1c-process, also by the order in real time

The module `dependencies` defines ww, wr, rw, process and realtime. G-single and G2 have no forms
with the suffixes -process and -realtime, because a reader that only lags would cause such a cycle.

For each form, the search reports at most one shortest cycle in each strongly connected component.
If a component has a cycle of a stronger form, the search does not report cycles of the weaker
forms:

- A form is stronger than another form if it needs fewer kinds of dependency. A G0 hides a G1c. Both
  a G1c and a G0-process hide a G1c-process.
- A G2 is hidden by a G0, a G1c and a G-single.

Jepsen's checker has no process dependencies. It uses the suffix -realtime for a form that has the
suffix -process here. It also gives a second name to each G0 and G1c form, such as
`PL-1-cycle-exists` to G0 (see `IMPRECISE`).

Source: Adya, "Weak Consistency"; Elle's cycle search.
Simplified: Elle's other forms (predicates, G-nonadjacent) have no meaning or no use for logs. If rw
dependencies are included, lagging readers connect almost all operations. So in a component with
more than `SEARCHED` operations, the search looks only for a G-single between two operations, and it
looks for no G2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History
from properties.anomalies.cycles.components import (
    SEARCHED,
    Graph,
    components,
    shortest_cycle,
    shortest_path,
)
from properties.anomalies.cycles.dependencies import (
    KINDS,
    Dependency,
    Kind,
    anti_dependencies,
    read_dependencies,
    time_dependencies,
    write_dependencies,
)
from properties.anomalies.declarations import Declarations
from properties.anomalies.remembered import remembered

FORMS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "G0": ("ww",),
    "G1c": ("ww", "wr"),
    "G0-process": ("ww", "process"),
    "G1c-process": ("ww", "wr", "process"),
    "G0-realtime": ("ww", "process", "realtime"),
    "G1c-realtime": ("ww", "wr", "process", "realtime"),
}
IMPLIES: Final[Mapping[str, tuple[str, ...]]] = {
    weaker: tuple(
        form for form in FORMS if form != weaker and set(FORMS[form]) <= set(FORMS[weaker])
    )
    for weaker in FORMS
}  # for each form, the stronger forms that hide it
IN_JEPSEN: Final = {"G0-process": "G0-realtime", "G1c-process": "G1c-realtime"}
IMPRECISE: Final = {
    "PL-1-cycle-exists": "G0",
    "PL-2-cycle-exists": "G1c",
    "strong-PL-1-cycle-exists": "G0-realtime",
    "strong-PL-2-cycle-exists": "G1c-realtime",
}
G_SINGLE: Final = "G-single"
G2: Final = "G2"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Cycle:
    """A cycle of operations: each operation in `ops` must precede the next operation, and the last
    operation must precede the first.
    """

    first_op: int
    component: int  # number of operations that depend on each other through records
    ops: tuple[int, ...]
    kinds: tuple[str, ...]  # kind of the dependency from each operation to the next
    keys: tuple[str, ...]
    values: tuple[str, ...]
    next_values: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of operations, negated. A report lists violations with a large `size` first,
        so short cycles come before long ones.
        """
        return -len(self.ops)


Between = Mapping[tuple[int, int], list[Dependency]]


@remembered
def dependencies(history: History, declared: Declarations) -> tuple[Dependency, ...]:
    """Returns all dependencies that the cycle search uses.

    The wr, process and realtime dependencies are always included. The ww dependencies are included
    if `declared.ww_deps` is True. The rw dependencies are included if `declared.rw_deps` is True.
    """
    records = [
        *read_dependencies(history),
        *(write_dependencies(history) if declared.ww_deps else ()),
        *(anti_dependencies(history) if declared.rw_deps else ()),
    ]
    among = {op for one in records if one.kind != "rw" for op in (one.first, one.second)}
    return tuple(dict.fromkeys((*records, *time_dependencies(history, among))))


def cycles(history: History, form: str, declared: Declarations) -> tuple[Cycle, ...]:
    """Returns the cycles of one form, such as `G1c`: at most one for each strongly connected
    component.

    `declared` is what the user declares about the log. The graph has ww and rw dependencies only if
    a declaration allows them.
    """
    found = dependencies(history, declared)
    if form in FORMS:
        return tuple(sorted(_of_form(form, found)))
    return tuple(sorted(_with_anti_dependencies(form, found)))


@remembered
def graph_of(found: tuple[Dependency, ...], kinds: tuple[str, ...]) -> Graph:
    graph: dict[int, set[int]] = {}
    for one in found:
        if one.kind in kinds:
            graph.setdefault(one.first, set()).add(one.second)
            graph.setdefault(one.second, set())
    return graph


@remembered
def between(found: tuple[Dependency, ...], kinds: tuple[str, ...]) -> Between:
    """Maps each pair (first, second) of operations to the dependencies from `first` to `second`.

    Only dependencies whose kind is in `kinds` are included. The dependencies of a pair are in the
    order ww, wr, rw, process, realtime.
    """
    pairs: dict[tuple[int, int], list[Dependency]] = {}
    for one in sorted(found, key=lambda d: (KINDS.index(d.kind), d)):
        if one.kind in kinds:
            pairs.setdefault((one.first, one.second), []).append(one)
    return pairs


def _of_form(form: str, found: tuple[Dependency, ...]) -> Iterator[Cycle]:
    kinds = FORMS[form]
    graph, pairs = graph_of(found, kinds), between(found, kinds)
    whole = _component_of(found, FORMS["G1c-realtime"])
    hidden = {
        whole[stronger[0]]
        for hiding in IMPLIES[form]
        for stronger in _components(found, FORMS[hiding])
    }
    records = graph_of(found, tuple(kind for kind in kinds if kind not in ("process", "realtime")))
    for component in _components(found, kinds):
        linked = _linked(records, component)
        if whole[component[0]] not in hidden:
            yield cycle_row(shortest_cycle(graph, linked), len(linked), pairs)


def _linked(records: Graph, component: tuple[int, ...]) -> tuple[int, ...]:
    among = _among(records, set(component))
    followers = set().union(*among.values())
    return tuple(op for op in component if among.get(op) or op in followers)


@remembered
def _components(found: tuple[Dependency, ...], kinds: tuple[str, ...]) -> list[tuple[int, ...]]:
    return components(graph_of(found, kinds))


@remembered
def _component_of(found: tuple[Dependency, ...], kinds: tuple[str, ...]) -> dict[int, int]:
    return {op: number for number, some in enumerate(_components(found, kinds)) for op in some}


def _with_anti_dependencies(form: str, found: tuple[Dependency, ...]) -> Iterator[Cycle]:
    flow, missed = graph_of(found, FORMS["G1c"]), between(found, ("rw",))
    graph = graph_of(found, (*FORMS["G1c"], "rw"))
    pairs = between(found, (*FORMS["G1c"], "rw"))
    for component in components(graph):
        result = of_anti_dependencies(component, _among(flow, set(component)), missed)
        if result and result[0] == form:
            first = result[1][0], result[1][1]
            single = {first: missed[first]} if form == G_SINGLE else {}
            yield cycle_row(result[1], len(component), {**pairs, **single})


def of_anti_dependencies(
    component: tuple[int, ...], flow: Graph, missed: Iterable[tuple[int, int]]
) -> tuple[str, tuple[int, ...]] | None:
    """Returns the form and the operations of a cycle with rw dependencies, such as
    `("G-single", (3, 7))`. Returns None if the component has no such cycle.

    If the component has a G-single, the function returns a shortest one. Its operations begin with
    the reader of the rw dependency. Otherwise the function returns a G2. It is a shortest one,
    except in two cases: the component has more than `SEARCHED` operations, or it has a cycle
    without rw dependencies.

    `flow` is the graph of the ww and wr dependencies. `missed` has the rw dependencies, as pairs of
    a reader and a sender.
    """
    members, small = set(component), len(component) <= SEARCHED
    inside = [(reader, sender) for reader, sender in missed if {reader, sender} <= members]
    single = [
        (reader, *path[:-1])
        for reader, sender in inside
        if (path := shortest_path(flow, sender, reader, members if small else ()))
    ]
    if single:
        return G_SINGLE, min(single, key=lambda ops: (len(ops), ops))
    if not small or components(flow):
        return None
    graph = {op: set(flow.get(op, ())) for op in component}
    for reader, sender in inside:
        graph[reader].add(sender)
    return G2, shortest_cycle(graph, component)


def _among(graph: Graph, members: set[int]) -> Graph:
    return {op: graph[op] & members for op in members & graph.keys()}


def cycle_row(ops: tuple[int, ...], component: int, pairs: Between) -> Cycle:
    steps = [pairs[pair][0] for pair in zip(ops, (*ops[1:], ops[0]), strict=True)]
    return Cycle(
        first_op=ops[0],
        component=component,
        ops=ops,
        kinds=tuple(step.kind for step in steps),
        keys=tuple(step.key for step in steps),
        values=tuple(step.value for step in steps),
        next_values=tuple(step.next_value for step in steps),
    )


def steps(row: Cycle) -> Iterator[Dependency]:
    """Yields one dependency for each operation of the cycle: the reason why this operation must
    precede the next operation.
    """
    for place, kind in enumerate(row.kinds):
        yield Dependency(
            first=row.ops[place],
            second=row.ops[(place + 1) % len(row.ops)],
            kind=KINDS[KINDS.index(kind)],
            key=row.keys[place],
            value=row.values[place],
            next_value=row.next_values[place],
        )
