"""Liveness under fairness: verdicts on small specs, and agreement with an oracle on random graphs.

The oracle tries every set of states, so the graphs are tiny. The module `behaviours` of the spec
language defines when a lasso is fair and violates its claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings

from checkers.explicit.exploration import Budget, Discovery, EngineName
from checkers.explicit.graph import StateGraph, interpreted_graph
from checkers.explicit.liveness import decide, with_liveness
from checkers.explicit.search import explore
from model.faults import UnknownName
from model.language import (
    Int,
    Map,
    Scope,
    Set,
    Sort,
    Spec,
    Temporal,
    action,
    always_eventually,
    eventually,
    eventually_always,
    exists,
    forall,
    leads_to,
    liveness,
    when,
)
from model.language.actions import Liveness
from model.language.behaviours import Lasso, is_fair, true_of
from model.language.expressions import SpecError
from model.language.interpreter import Interpreter
from tests.checkers.explicit.random_graphs import Drawn, graphs, spec_of


class Replica(Sort):
    prefix = "b"


class Offset(Int):
    pass


class HighWatermark(Spec):
    """A leader appends, followers fetch, the high watermark advances; a replica may fail once."""

    end: Map[Replica, Offset]
    high_watermark: Offset
    alive: Set[Replica]
    failures: Offset

    def scope(s) -> Scope:
        return {Replica: 2, Offset: range(3)}

    def init(s) -> None:
        for r in Replica:
            s.alive[r] = True

    @action
    def append(s, leader: Replica) -> None:
        when(s.alive[leader], s.end[leader] < 2, forall(s.end[r] <= s.end[leader] for r in Replica))
        s.end[leader] = s.end[leader] + 1

    @action(fair="weak")
    def fetch(s, follower: Replica, leader: Replica) -> None:
        when(s.alive[follower], s.end[follower] < s.end[leader])
        s.end[follower] = s.end[follower] + 1

    @action(fair="weak")
    def advance(s) -> None:
        when(forall(s.high_watermark < s.end[r] for r in Replica))
        s.high_watermark = s.high_watermark + 1

    @action
    def fail(s, r: Replica) -> None:
        when(s.alive[r], s.failures == 0)
        s.alive[r] = False
        s.failures = Offset(1)

    @liveness
    def reaches_the_end(s, r: Replica) -> Temporal:
        """The high watermark eventually reaches the end of the log."""
        return eventually_always(s.high_watermark == s.end[r])

    @liveness
    def every_record_is_committed(s, o: Offset) -> Temporal:
        return leads_to(exists(s.end[r] == o for r in Replica), o <= s.high_watermark)


class Recovers(HighWatermark):
    @action(fair="weak")
    def restart(s, r: Replica) -> None:
        """A failed replica restarts; the number of restarts is not bounded."""
        when(~s.alive[r])
        s.alive[r] = True


ENGINES: tuple[EngineName, ...] = ("python", "compiled")
ON_BOTH = pytest.mark.parametrize("engine", ENGINES)


@ON_BOTH
def test_a_replica_that_stays_dead_stops_the_high_watermark(engine: EngineName) -> None:
    spec = HighWatermark()
    found = decide(spec, engine=engine)
    assert {n: d.verdict for n, d in found.items()} == {
        "reaches_the_end": "violated",
        "every_record_is_committed": "violated",
    }
    lost = found["every_record_is_committed"]
    assert lost.values == (1,)
    assert [s.action for s in lost.trace] == ["init", "append", "fail"]
    assert lost.loop == 2
    assert_breaks(spec, lost)


@ON_BOTH
def test_recovery_makes_the_high_watermark_advance(engine: EngineName) -> None:
    assert {n: d.verdict for n, d in decide(Recovers(), engine=engine).items()} == {
        "reaches_the_end": "holds",
        "every_record_is_committed": "holds",
    }


def test_without_fairness_no_liveness_property_holds() -> None:
    class Lazy(Recovers):
        @action
        def advance(s) -> None:
            HighWatermark.advance(s)

    found = decide(Lazy(), ["every_record_is_committed"])["every_record_is_committed"]
    assert found.verdict == "violated"
    assert [s.action for s in found.trace][:2] == ["init", "append"]
    assert_breaks(Lazy(), found)


class Turn(Int):
    pass


class Lamp(Spec):
    """A switch is pressed infinitely often; a job can be done only while the light is on."""

    on: Set[Turn]
    done: Set[Turn]

    def scope(s) -> Scope:
        return {Turn: 1}

    @action(fair="weak")
    def press(s, x: Turn) -> None:
        s.on[x] = ~s.on[x]

    @action(fair="weak")
    def work(s, x: Turn) -> None:
        when(s.on[x], ~s.done[x])
        s.done[x] = True

    @liveness
    def is_done(s, x: Turn) -> Temporal:
        return eventually(s.done[x])

    @liveness
    def light_returns(s, x: Turn) -> Temporal:
        return always_eventually(s.on[x])

    @liveness
    def stays_dark(s, x: Turn) -> Temporal:
        return eventually_always(~s.on[x])


class Patient(Lamp):
    @action(fair="strong")
    def work(s, x: Turn) -> None:
        when(s.on[x], ~s.done[x])
        s.done[x] = True


@ON_BOTH
def test_weak_fairness_is_too_weak_for_an_action_disabled_infinitely_often(
    engine: EngineName,
) -> None:
    weak, strong = decide(Lamp(), engine=engine), decide(Patient(), engine=engine)
    assert {n: d.verdict for n, d in weak.items()} == {
        "is_done": "violated",
        "light_returns": "holds",
        "stays_dark": "violated",
    }
    assert strong["is_done"].verdict == "holds"
    lasso = weak["is_done"]
    assert ([s.action for s in lasso.trace], lasso.loop) == (["init", "press", "press"], 0)
    assert_breaks(Lamp(), lasso)


@ON_BOTH
def test_a_budget_below_the_number_of_states_leaves_liveness_undecided(engine: EngineName) -> None:
    found = decide(Recovers(), budget=Budget(states=3), engine=engine)["reaches_the_end"]
    assert (found.verdict, found.reason) == (
        "undecided",
        "liveness needs every state: the budget of states is spent",
    )


def test_a_graph_larger_than_the_memory_leaves_liveness_undecided() -> None:
    spec, names = Recovers(), ["reaches_the_end"]
    found = decide(spec, names, engine="compiled", memory=1000)["reaches_the_end"]
    assert found.verdict == "undecided"
    assert found.reason == (
        "liveness needs every state: 0.1 MB of memory, above the limit of 0.1 MB: set --memory"
    )
    explored = explore(spec, engine="compiled")
    assert with_liveness(spec, explored, names, memory=1000).discoveries["reaches_the_end"] == found


class ReadsAhead(Recovers):
    """A mistake in a claim: in the states of a full log, its formula uses an offset after the last
    one.
    """

    is_read: Set[Offset]

    @liveness
    def reads(s, r: Replica) -> Temporal:
        return eventually(s.is_read[s.end[r] + 1])


@ON_BOTH
def test_an_undefined_term_of_a_claim_is_an_error(engine: EngineName) -> None:
    with pytest.raises(SpecError, match="reads is ill-defined: a value is outside its sort"):
        decide(ReadsAhead(), ["reads"], engine=engine)


def test_a_too_large_exploration_is_not_repeated_for_liveness() -> None:
    spec, names = Recovers(), ["reaches_the_end"]
    found = with_liveness(spec, explore(spec), names, Budget(states=3))
    assert found.discoveries["reaches_the_end"].reason == (
        "liveness needs every state: more than 3"
    )
    assert (
        with_liveness(spec, explore(spec), names).discoveries["reaches_the_end"].verdict == "holds"
    )


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownName, match="reaches_the_end"):
        decide(Recovers(), ["reaches_end"])


def assert_breaks(spec: Spec, found: Discovery) -> None:
    """Asserts that the counterexample is a fair behaviour of the spec and violates the claim."""
    interpreter, lasso = Interpreter.of(spec), lasso_of(found)
    assert lasso.states[0] in interpreter.initial(spec)
    states = [step.state for step in found.trace]
    actions = {a.name: a for a in spec.actions}
    for step, before in zip(found.trace[1:], states, strict=False):
        assert interpreter.step(actions[step.action], before, step.values) == step.state
    assert is_fair(interpreter, spec, lasso)
    assert isinstance(found.claim, Liveness)
    assert not true_of(interpreter, found.claim, lasso)


def lasso_of(found: Discovery) -> Lasso:
    assert found.loop is not None
    states = [step.state for step in found.trace]
    if found.loop == len(states) - 1:
        return Lasso(states, found.loop)
    assert states[-1] == states[found.loop]
    return Lasso(states[:-1], found.loop)


# ---- random graphs


@settings(max_examples=300, deadline=None)
@given(drawn=graphs(nodes=4, edges=range(1, 5)))
def test_liveness_agrees_with_the_oracle_on_random_graphs(drawn: Drawn) -> None:
    spec = spec_of(*drawn)
    graph, found = interpreted_graph(spec), decide(spec)
    for name, expected in oracle(spec, graph, drawn[1], drawn[2]).items():
        assert found[name].verdict == ("violated" if expected else "holds"), name
        if expected:
            assert_breaks(spec, found[name])
            assert_shortest(found[name], expected)


def assert_shortest(found: Discovery, lengths: Lengths) -> None:
    """Asserts that the counterexample is as short as the oracle's shortest violation."""
    if found.loop == found.steps:
        assert found.loop == lengths.to_rest
    else:
        assert found.loop == lengths.to_loop
        assert lengths.to_rest is None or found.steps < lengths.to_rest


@dataclass(frozen=True)
class Lengths:
    """The fewest steps to a set of nodes in which a fair behaviour can stay for ever."""

    to_loop: int  # to any such set
    to_rest: int | None  # to such a set of one node


def oracle(
    spec: Spec, graph: StateGraph, p: frozenset[int], q: frozenset[int]
) -> dict[str, Lengths | None]:
    """Returns, for each claim, the `Lengths` of its shortest counterexamples, or None if the claim
    holds.

    A counterexample leads to a set of nodes in which a fair behaviour can stay for ever. The oracle
    tries every such set.
    """
    at = [int(state["at", ()] or 0) for state in graph.states]
    plain = nx.DiGraph(graph.graph)
    bad = [n for n in plain if at[n] not in q]
    begun = [n for n in bad if at[n] in p]
    missing = plain.subgraph(bad)
    fair = [nodes for nodes in _sets(plain) if _is_fair(spec, graph, nodes)]

    depth = nx.single_source_shortest_path_length(plain, 0)

    def lengths(within: nx.DiGraph[int], starts: Sequence[int]) -> Lengths | None:
        far: dict[int, int] = {}
        for start in starts:
            for n, more in nx.single_source_shortest_path_length(within, start).items():
                far[n] = min(far.get(n, 99), depth[start] + more)
        sets = [nodes for nodes in fair if nodes <= far.keys() and nodes & set(bad)]
        rests = [far[n] for nodes in sets for n in nodes if len(nodes) == 1]
        loops = [far[n] for nodes in sets for n in nodes]
        return Lengths(min(loops), min(rests, default=None)) if loops else None

    return {
        "leads": lengths(missing, begun),
        "once": lengths(missing, [n for n in bad if n == 0]),
        "settles": lengths(plain, list(plain)),
    }


def _sets(graph: Any) -> Iterator[frozenset[int]]:
    for size in range(1, len(graph) + 1):
        for nodes in combinations(graph, size):
            if size == 1 or nx.is_strongly_connected(graph.subgraph(nodes)):
                yield frozenset(nodes)


def _is_fair(spec: Spec, graph: StateGraph, nodes: frozenset[int]) -> bool:
    edges = [(a, b, name) for a, b, name in graph.graph.edges(data="action") if a != b]
    for made in spec.actions:
        enabled = {a for a, _, name in edges if name == made.name} & nodes
        taken = any(a in nodes and b in nodes for a, b, name in edges if name == made.name)
        if made.fair == "weak" and not taken and enabled >= nodes:
            return False
        if made.fair == "strong" and not taken and enabled:
            return False
    return True
