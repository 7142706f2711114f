"""Explorations have limits, report progress, check several properties, and can be interrupted."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.explicit.exploration import Budget, Progress
from checkers.explicit.search import explore
from model.faults import UnknownName
from model.language import (
    Bool,
    Int,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    count,
    exists,
    forall,
    implies,
    invariant,
    when,
    witness,
)
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip320
from model.transactions_abstract.state import Producer
from model.transactions_abstract.versions import Transactions


def test_one_violated_property_does_not_stop_the_others() -> None:
    found = explore(Kip101(), properties=["weak_isr", "strong_isr"])
    assert found.violated == ("strong_isr",)
    assert found.discoveries["weak_isr"].verdict == "holds"
    assert found.exhausted


def test_the_search_ends_when_every_property_is_violated() -> None:
    found = explore(TruncateToHighWatermark(), properties=["weak_isr", "strong_isr"])
    assert found.why_stopped == "all decided"
    assert found.violated == ("weak_isr", "strong_isr")


def test_a_trace_is_a_run_of_the_spec() -> None:
    spec = TruncateToHighWatermark(replicas=2, max_leader_epoch=2)
    trace = explore(spec).discoveries["strong_isr"].trace
    interpreter = Interpreter.of(spec)
    actions = {a.name: a for a in spec.actions}
    assert trace[0].state in interpreter.initial(spec)
    for before, step in pairwise(trace):
        assert interpreter.step(actions[step.action], before.state, step.values) == step.state


def test_a_spent_budget_keeps_the_violations_that_were_found() -> None:
    found = explore(Kip101(), budget=Budget(states=30_000))
    assert found.why_stopped == "states"
    assert 30_000 < found.distinct < 60_106
    assert found.discoveries["strong_isr"].verdict == "violated"
    assert found.discoveries["weak_isr"].verdict == "undecided"
    assert found.discoveries["weak_isr"].reason == "the budget of states is spent"


def test_a_budget_of_zero_seconds_ends_the_search() -> None:
    found = explore(Kip320(), budget=Budget(seconds=0))
    assert found.why_stopped == "seconds"
    assert {d.verdict for d in found.discoveries.values()} == {"undecided"}


def test_an_interruption_keeps_the_violations_that_were_found() -> None:
    def press_ctrl_c(at: Progress) -> None:
        if at.distinct > 40_000:
            raise KeyboardInterrupt

    found = explore(Kip101(), progress=press_ctrl_c)
    assert found.why_stopped == "interrupted"
    assert found.discoveries["strong_isr"].steps == 11
    assert found.discoveries["weak_isr"].reason == "interrupted"


def test_progress_reports_growing_counts() -> None:
    reports: list[Progress] = []
    found = explore(Kip320(), progress=reports.append)
    assert len(reports) > 10
    assert [p.distinct for p in reports] == sorted(p.distinct for p in reports)
    assert (reports[0].distinct, reports[0].depth, reports[0].queue) == (1, 1, 1)
    assert reports[-1].depth == found.depth


def test_an_unknown_property_lists_the_nearest() -> None:
    with pytest.raises(
        UnknownName, match="Kip320 has no property 'week_isr'; the nearest: weak_isr"
    ):
        explore(Kip320(), properties=["week_isr"])


def test_a_scope_without_a_sort_of_the_spec_is_an_error() -> None:
    with pytest.raises(SpecError, match="has no scope for the sort Transaction"):
        explore(Transactions(), scope={Producer: 1})


class Member(Sort):
    pass


class Round(Int):
    pass


class Ballot(Spec):
    """Members vote; some rounds have no winner."""

    votes: Set[Member]
    rounds: Round

    def scope(s) -> Scope:
        return {Member: 3, Round: range(3)}

    @action
    def vote(s, m: Member) -> None:
        when(~s.votes[m])
        s.votes[m] = True

    @action
    def close(s) -> None:
        when(s.rounds < 2, count(s.votes[m] for m in Member) == 2)
        for m in s.votes:
            s.votes[m] = False
        s.rounds = s.rounds + 1

    @action
    def win(s) -> None:
        when(s.rounds > 2)
        s.rounds = Round(0)

    @invariant
    def few(s) -> Bool:
        return forall(implies(s.votes[m], s.rounds <= 2) for m in Member)

    @witness
    def second_round(s) -> Bool:
        return (s.rounds == 2) & exists(s.votes[m] for m in Member)

    @witness
    def third_round(s) -> Bool:
        return s.rounds == 3


def test_unreached_witnesses_and_untaken_actions_are_reported() -> None:
    found = explore(Ballot())
    assert (found.distinct, found.taken["close"]) == (24, 6)
    assert found.never_taken == ("win",)
    assert found.witnesses["second_round"].states == 7
    assert [s.action for s in found.witnesses["second_round"].trace] == [
        *("init", "vote", "vote", "close", "vote", "vote", "close", "vote"),
    ]
    assert found.witnesses["third_round"].states == 0


def test_exploration_is_deterministic() -> None:
    once, twice = (explore(TruncateToHighWatermark()) for _ in range(2))
    assert once.discoveries["weak_isr"].trace == twice.discoveries["weak_isr"].trace
