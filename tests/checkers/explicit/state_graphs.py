"""The state graph of a small scope: nodes are states, edges are transitions.

Nodes are numbered in breadth-first order, the initial states first. So two engines that agree
return equal graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance, Packed
from model.language.interpreter import Interpreter, State
from model.language.scope import Scope
from model.language.spec import Action, Spec

Call = tuple[Action, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class StateGraph:
    """The state graph of a spec; `states[n]` is the state of node n."""

    graph: nx.MultiDiGraph[int]  # edges carry `action` and `values`
    states: Sequence[State]


def compiled_graph(spec: Spec, scope: Scope | None = None) -> StateGraph:
    at = Instance.of(spec, scope)
    program = Program(at)

    def steps(state: Packed) -> Iterator[tuple[Call, Packed]]:
        out: list[tuple[int, Packed]] = []
        program.successors(state, out.append)
        return ((program.labels[label], after) for label, after in out)

    return _graph(at, program.initial(), steps)


def interpreted_graph(spec: Spec, scope: Scope | None = None) -> StateGraph:
    at = Instance.of(spec, scope)
    interpreter = Interpreter(at.ranges)

    def steps(state: Packed) -> Iterator[tuple[Call, Packed]]:
        for action, values, after in interpreter.steps(spec, at.unpack(state)):
            yield (action, values), at.pack(after)

    return _graph(at, [at.pack(s) for s in interpreter.initial(spec)], steps)


def _graph(at: Instance, initial: Sequence[Packed], steps: Any) -> StateGraph:
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    number = {state: k for k, state in enumerate(initial)}
    graph.add_nodes_from(range(len(initial)), initial=True)
    todo = list(initial)
    for state in todo:  # grows while it is read: breadth first
        for (action, values), after in steps(state):
            if after not in number:
                number[after] = len(number)
                graph.add_node(number[after], initial=False)
                todo.append(after)
            graph.add_edge(number[state], number[after], action=action.name, values=values)
    return StateGraph(graph, [at.unpack(state) for state in todo])
