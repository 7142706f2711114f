"""Random walks depend only on a seed and on weights; a violation comes with a trace of the spec."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.explicit.exploration import Budget, Exploration, Task
from checkers.explicit.search import chosen
from checkers.explicit.simulation import simulate
from model.language import Int, Map, Scope, Sort, Spec, action, forall, invariant, when, witness
from model.language.expressions import Bool
from model.language.interpreter import Interpreter
from model.specs import find
from tests.checkers.explicit.test_action_properties import Forgets


def walked(spec: Spec, *names: str, states: int = 20_000, **more: object) -> Exploration:
    task = Task(spec=spec, claims=chosen(spec, names), budget=Budget(states=states))
    return simulate(task, **more)  # type: ignore[arg-type]


OLD = find("replication", "truncate-to-hw")


def test_the_trace_of_a_violation_is_a_run_of_the_spec() -> None:
    spec = OLD.make({"replicas": 3})
    found = walked(spec, "weak_isr", states=200_000)
    trace = found.discoveries["weak_isr"].trace
    assert found.discoveries["weak_isr"].verdict == "violated"
    interpreter, actions = Interpreter.of(spec), {a.name: a for a in spec.actions}
    assert trace[0].state in interpreter.initial(spec)
    for before, step in pairwise(trace):
        assert interpreter.step(actions[step.action], before.state, step.values) == step.state
    states = [tuple(step.state.items()) for step in trace]
    assert len(set(states)) == len(states)  # no detour through the same state


def test_equal_seeds_take_equal_walks() -> None:
    spec = OLD.make({"replicas": 3})
    one, same, other = (walked(spec, "strong_isr", states=2_000, seed=s) for s in (1, 1, 2))
    assert (one.distinct, one.taken) == (same.distinct, same.taken)
    assert one.taken != other.taken


def test_a_property_without_a_violation_is_undecided() -> None:
    found = walked(find("replication").make(), states=2_000)
    assert {d.verdict for d in found.discoveries.values()} == {"undecided"}
    reason = found.discoveries["weak_isr"].reason
    assert "random walks of up to 200 steps do not reach every state" in reason
    assert found.engine == "simulate"
    assert not found.exhausted


def test_a_step_that_violates_an_action_property_is_found() -> None:
    found = walked(Forgets(), "monotone")
    assert found.discoveries["monotone"].trace[-1].action == "restart"


class Node(Sort):
    pass


class Level(Int):
    pass


class Rare(Spec):
    """A spec whose claim breaks after three crashes in a row, which random walks rarely take.

    A crash is one action of many. A higher weight of this action makes the violation frequent.
    """

    crashes: Level
    work: Map[Node, Level]

    def scope(s) -> Scope:
        return {Node: 3, Level: range(5)}

    @action
    def crash(s) -> None:
        when(s.crashes < 3)
        s.crashes = s.crashes + 1

    @action
    def recover(s) -> None:
        when(s.crashes > 0)
        s.crashes = Level(0)

    @action
    def toil(s, n: Node) -> None:
        s.work[n] = Level(1)

    @action
    def rest(s, n: Node) -> None:
        s.work[n] = Level(0)

    @invariant
    def few_crashes(s) -> Bool:
        return s.crashes < 3

    @witness
    def all_toil(s) -> Bool:
        return forall(s.work[n] == 1 for n in Node)


def test_weights_make_rare_actions_frequent() -> None:
    plain = walked(Rare(), "few_crashes", states=400, weights={"recover": 1000.0})
    heavy = walked(Rare(), "few_crashes", states=400, weights={"cra*": 1000.0, "recover": 0.001})
    assert plain.discoveries["few_crashes"].verdict == "undecided"
    assert heavy.discoveries["few_crashes"].verdict == "violated"
    assert heavy.discoveries["few_crashes"].steps == 3
    assert plain.witnesses["all_toil"].states > 0


def test_an_undefined_term_ends_the_simulation() -> None:
    class Over(Rare):
        @action
        def crash(s) -> None:
            s.crashes = s.crashes + 1

        @action
        def recover(s) -> None:
            when(s.crashes > 7)
            s.crashes = Level(0)

        @invariant
        def few_crashes(s) -> Bool:
            return s.crashes < 7

    found = walked(Over(), states=5_000)
    assert found.why_stopped == "ill-defined"
    assert found.ill_defined is not None
    assert found.ill_defined.where.startswith("crash(), line ")


@pytest.mark.parametrize("length", [1, 5])
def test_walks_have_a_maximal_length(length: int) -> None:
    assert walked(Rare(), states=100, length=length).depth <= length + 1
