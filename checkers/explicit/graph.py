"""The state graph of a small exploration. The nodes are states, and the edges are transitions.

The nodes are numbered in breadth-first order from the initial states. So the numbers do not depend
on the engine, and the graphs of two engines can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx

from checkers.explicit.actions import Program
from checkers.explicit.exploration import Step, Trace
from checkers.explicit.instance import Instance, Packed
from model.language.expressions import SpecError
from model.language.interpreter import Interpreter, State
from model.language.scope import Ranges, Scope
from model.language.spec import Action, Spec
from model.language.values import Writer

LIMIT = 20_000  # states: a larger graph is of no use to a reader

Call = tuple[Action, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class StateGraph:
    """The state graph of a spec. `states[n]` is the state of node n."""

    spec: Spec
    ranges: Ranges
    graph: nx.MultiDiGraph[int]  # edges carry `action` and `values`
    states: Sequence[State]

    def deadlocks(self) -> list[int]:
        """Returns the numbers of the nodes that have no outgoing transition."""
        return [node for node, degree in self.graph.out_degree() if degree == 0]

    def terminal_components(self) -> list[frozenset[int]]:
        """Returns the terminal strongly connected components, the smallest component first.

        A component is terminal if no transition leaves it. A deadlock is a terminal component with
        one state.
        """
        found: Iterator[set[int]] = nx.attracting_components(self.graph)
        return sorted(map(frozenset, found), key=lambda nodes: (len(nodes), min(nodes)))

    def path_to(self, node: int) -> Trace:
        starts = {n for n, first in self.graph.nodes(data="initial") if first}
        path = nx.multi_source_dijkstra_path(self.graph, starts, weight=None)[node]
        steps = [Step(action="init", values=(), state=self.states[path[0]])]
        for a, b in pairwise(path):
            edge: Mapping[str, Any] = next(iter(self.graph.get_edge_data(a, b).values()))
            steps.append(Step(action=edge["action"], values=edge["values"], state=self.states[b]))
        return tuple(steps)

    def write_graphml(self, path: Path) -> None:
        """Writes the graph as GraphML for Gephi, yEd or Cytoscape, with states as text."""
        writer = Writer(self.spec, self.ranges)
        actions = {a.name: a for a in self.spec.actions}
        out: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for node, state in enumerate(self.states):
            text = "\n".join(f"{item.place} = {item.value}" for item in writer.items(state))
            out.add_node(node, initial=self.graph.nodes[node]["initial"], state=text)
        for a, b, edge in self.graph.edges(data=True):
            out.add_edge(a, b, label=writer.call(actions[edge["action"]], edge["values"]))
        nx.write_graphml(out, path)


def compiled_graph(spec: Spec, scope: Scope | None = None) -> StateGraph:
    """Returns the state graph of a spec. Raises SpecError if the graph has more than 20,000
    states.
    """
    at = Instance.of(spec, scope)
    program = Program(at)

    def steps(state: Packed) -> Iterator[tuple[Call, Packed]]:
        out: list[tuple[int, Packed]] = []
        program.successors(state, out.append)
        return ((program.labels[label], after) for label, after in out)

    return _graph(spec, at, program.initial(), steps)


def interpreted_graph(spec: Spec, scope: Scope | None = None) -> StateGraph:
    """Returns the state graph of a spec, computed by the slow interpreter of specs. It is the
    oracle of `compiled_graph`.
    """
    at = Instance.of(spec, scope)
    interpreter = Interpreter(at.ranges)

    def steps(state: Packed) -> Iterator[tuple[Call, Packed]]:
        for action, values, after in interpreter.steps(spec, at.unpack(state)):
            yield (action, values), at.pack(after)

    return _graph(spec, at, [at.pack(s) for s in interpreter.initial(spec)], steps)


def _graph(spec: Spec, at: Instance, initial: Sequence[Packed], steps: Any) -> StateGraph:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    number = {state: k for k, state in enumerate(initial)}
    graph.add_nodes_from(range(len(initial)), initial=True)
    todo = list(initial)
    for state in todo:  # grows while it is read: breadth first
        for (action, values), after in steps(state):
            if after not in number:
                if len(number) >= LIMIT:
                    raise SpecError(
                        f"more than {LIMIT:,} states: too many for a graph\n"
                        "  make its constants smaller with --set, or use urteil check"
                    )
                number[after] = len(number)
                graph.add_node(number[after], initial=False)
                todo.append(after)
            graph.add_edge(number[state], number[after], action=action.name, values=values)
    return StateGraph(spec, at.ranges, graph, [at.unpack(state) for state in todo])
