"""Every engine checks action properties on each step and returns equal results."""

from __future__ import annotations

from typing import Self

from checkers.explicit.exploration import Budget
from checkers.explicit.graph import interpreted_graph
from checkers.explicit.search import explore
from checkers.report.counterexample import counterexample
from model.language import (
    Bool,
    Int,
    Map,
    Scope,
    Sort,
    Spec,
    action,
    action_property,
    forall,
    invariant,
    when,
)
from model.language.interpreter import Interpreter, joined


class Replica(Sort):
    prefix = "b"


class LeaderEpoch(Int):
    pass


class Epochs(Spec):
    epoch: Map[Replica, LeaderEpoch]

    def scope(s) -> Scope:
        return {Replica: 2, LeaderEpoch: range(3)}

    @action
    def elect(s, r: Replica) -> None:
        when(s.epoch[r] < 2)
        s.epoch[r] = s.epoch[r] + 1

    @action
    def nothing_happens(s) -> None:
        when(forall(s.epoch[r] == 2 for r in Replica))
        s.epoch = s.epoch

    @action_property
    def monotone(s, after: Self) -> Bool:
        """An epoch never decreases."""
        return forall(s.epoch[r] <= after.epoch[r] for r in Replica)

    @action_property
    def every_step_raises_one(s, after: Self) -> Bool:
        return ~forall(s.epoch[r] == after.epoch[r] for r in Replica)

    @invariant
    def small(s) -> Bool:
        return forall(s.epoch[r] <= 2 for r in Replica)


class Forgets(Epochs):
    @action
    def restart(s, r: Replica) -> None:
        """A restart resets the epoch."""
        when(forall(s.epoch[x] >= 1 for x in Replica))
        s.epoch[r] = LeaderEpoch(0)


def test_a_transition_to_the_same_state_is_no_step() -> None:
    found = explore(Epochs())
    assert found.taken["nothing_happens"] == 1
    assert {n: d.verdict for n, d in found.discoveries.items()} == {
        "small": "holds",
        "monotone": "holds",
        "every_step_raises_one": "holds",
    }


def test_a_violation_is_a_shortest_trace_that_ends_with_the_step() -> None:
    found = explore(Forgets())
    trace = found.discoveries["monotone"].trace
    assert [s.action for s in trace] == ["init", "elect", "elect", "restart"]
    assert [s.state["epoch", (0,)] for s in trace] == [0, 1, 1, 0]
    text = counterexample(Forgets(), found, "monotone")
    assert "✗ monotone  violated after 3 steps" in text
    assert "for r b0" in text
    assert "but  epoch[b0] 1 ≤ after.epoch[b0] 0  is false" in text


def test_the_search_ends_when_all_are_violated_and_budgets_leave_them_undecided() -> None:
    assert explore(Forgets(), properties=["monotone"]).why_stopped == "all decided"
    short = explore(Epochs(), properties=["monotone"], budget=Budget(states=1))
    assert short.discoveries["monotone"].verdict == "undecided"


def test_the_verdict_is_that_of_the_interpreter_on_every_edge() -> None:
    for spec in (Epochs(), Forgets()):
        found, graph, interpreter = explore(spec), interpreted_graph(spec), Interpreter.of(spec)
        for claim in spec.action_properties:
            broken = [
                (a, b)
                for a, b in graph.graph.edges()
                if a != b
                and not interpreter.holds(claim.formula, joined(graph.states[a], graph.states[b]))
            ]
            assert (found.discoveries[claim.name].verdict == "violated") == bool(broken)


def test_an_undefined_term_names_the_claim_that_contains_it() -> None:
    class Beyond(Epochs):
        owner: Map[LeaderEpoch, Replica]

        @action_property
        def reads_beyond(s, after: Self) -> Bool:
            return forall(s.owner[after.epoch[r] + 1] == s.owner[s.epoch[r]] for r in Replica)

    found = explore(Beyond())
    assert found.why_stopped == "ill-defined"
    assert found.ill_defined is not None
    assert found.ill_defined.where == "reads_beyond"
