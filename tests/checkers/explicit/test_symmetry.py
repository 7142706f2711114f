"""Symmetry reduction explores one state of each symmetry class and changes no verdict."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest

from checkers.explicit.graph import interpreted_graph
from checkers.explicit.instance import Instance
from checkers.explicit.search import explore
from checkers.explicit.symmetry import permutations_of
from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    everything,
    exists,
    forall,
    invariant,
    nothing,
    when,
    witness,
)
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import Interpreter, State
from model.language.symmetry import symmetric
from model.specs import find
from tests.checkers.explicit.test_action_properties import Epochs, Forgets


class Node(Sort):
    pass


class Job(Sort):
    pass


class Level(Int):
    pass


class Jobs(Spec):
    """A spec with two symmetric sorts: nodes take jobs, pass them on and forget them.

    All nodes are interchangeable, and so are all jobs.
    """

    owner: Map[Job, Node | Nothing]
    knows: Map[Node, Set[Job]]
    favourite: Map[Node, Node]
    level: Map[Node, Level]

    def scope(s) -> Scope:
        return {Node: 3, Job: 2, Level: 2}

    @action
    def take(s, n: Node, j: Job) -> None:
        when(s.owner[j] == nothing)
        s.owner[j] = n
        s.knows[n][j] = True

    @action
    def pass_on(s, n: Node, m: Node, j: Job) -> None:
        when(s.owner[j] == n, n != m, s.level[n] == 0)
        s.owner[j] = m
        s.favourite[n] = m
        s.level[n] = Level(1)

    @action
    def forget(s, n: Node) -> None:
        when(s.level[n] == 1)
        s.knows[n] = everything(Job)
        s.level[n] = Level(0)

    @invariant
    def owners_know(s) -> Bool:
        return forall(
            (s.owner[j] != n) | s.knows[n][j] | (s.level[n] == 0) for n in Node for j in Job
        )

    @invariant
    def levels_are_low(s) -> Bool:
        return forall(s.level[n] <= 1 for n in Node)

    @invariant
    def not_all_know(s) -> Bool:
        return exists(~s.knows[n][j] for n in Node for j in Job)

    @witness
    def two_owners(s) -> Bool:
        return exists(
            (s.owner[i] == n) & (s.owner[j] != n) & (s.owner[j] != nothing)
            for i in Job
            for j in Job
            for n in Node
        )


def orbits(spec: Spec, states: list[State], sorts: tuple[str, ...]) -> int:
    """Returns how many symmetry classes the states have.

    Tries all permutations of the values of each sort in `sorts`.
    """
    interpreter = Interpreter.of(spec)
    keys = {v.name: v.keys for v in spec.variables}
    values = {v.name: v.value for v in spec.variables}

    def permuted(state: State, way: dict[str, tuple[int, ...]]) -> tuple[object, ...]:
        def moved(k: int | bool | None, sort: t.SortInfo) -> int | bool | None:
            return way[sort.name][k] if sort.name in way and k is not None else k

        cells = {
            (name, tuple(moved(k, s) for k, s in zip(key, keys[name], strict=True))): moved(
                v, values[name]
            )
            for (name, key), v in state.items()
        }
        return tuple(cells[cell] for cell in state)

    def ways() -> Iterator[dict[str, tuple[int, ...]]]:
        for way in product(*(permutations(interpreter.ranges[s]) for s in sorts)):
            yield dict(zip(sorts, way, strict=True))

    every = list(ways())
    return len({frozenset(permuted(state, way) for way in every) for state in states})


SPECS: list[Spec] = [
    Jobs(),
    Epochs(),
    Forgets(),
    find("replication", "kip-101").make(
        {"replicas": 2, "max_leader_epoch": 1, "log_size": 1, "max_records": 1}
    ),
    find("transactions-abstract").make({"transactions": 2}),
    find("idempotence-abstract").make({"producers": 2, "offsets": 2}),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda s: type(s).__name__)
def test_one_state_per_symmetry_class_and_equal_verdicts(spec: Spec) -> None:
    whole, reduced = explore(spec), explore(spec, symmetry=True)
    assert reduced.engine == "numpy"
    assert reduced.symmetric == symmetric(spec) != ()
    graph = interpreted_graph(spec)
    assert reduced.distinct == orbits(spec, list(graph.states), reduced.symmetric)
    assert reduced.distinct < whole.distinct
    expected = {n: (d.verdict, d.steps) for n, d in whole.discoveries.items()}
    assert {n: (d.verdict, d.steps) for n, d in reduced.discoveries.items()} == expected
    assert {n for n, w in reduced.witnesses.items() if w.states} == {
        n for n, w in whole.witnesses.items() if w.states
    }


def test_a_trace_under_symmetry_is_a_real_run() -> None:
    spec = Jobs()
    found = explore(spec, symmetry=True).discoveries["not_all_know"]
    assert found.verdict == "violated"
    interpreter, actions = Interpreter.of(spec), {a.name: a for a in spec.actions}
    state = found.trace[0].state
    for step in found.trace[1:]:
        after = interpreter.step(actions[step.action], state, step.values)
        assert after == step.state
        state = after


def test_a_sort_whose_least_element_is_named_is_not_symmetric() -> None:
    class Favours(Jobs):
        @action
        def favour(s) -> None:
            first = wrap(Node, t.Least(Node.info))
            when(s.level[first] == 0)
            s.level[first] = Level(1)

    assert symmetric(Jobs()) == ("Job", "Node")
    assert symmetric(Favours()) == ("Job",)
    reduced = explore(Favours(), symmetry=True)
    graph = interpreted_graph(Favours())
    assert reduced.distinct == orbits(Favours(), list(graph.states), ("Job",))


def test_too_many_permutations_are_refused() -> None:
    at = Instance.of(Jobs(), {Node: 6, Job: 2, Level: 2})
    with pytest.raises(SpecError, match="1,440 permutations of Job, Node"):
        permutations_of(at, ("Job", "Node"))


def test_another_engine_refuses_symmetry() -> None:
    with pytest.raises(SpecError, match="has no symmetry reduction"):
        explore(Jobs(), symmetry=True, engine="python")
