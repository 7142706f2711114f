"""cvc5 decides each condition of a proof as Z3 does, proved or refuted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import ClassVar

import pytest

from checkers.symbolic import EnginesDisagree, prove, second_solver
from checkers.symbolic.agreement import Agreement, agreement
from checkers.symbolic.induction import Induction, Using
from checkers.symbolic.second_solver import METHODS, OF_FINITE_MODELS, check
from checkers.symbolic.smtlib import Script, scripts, text_of
from checkers.symbolic.sorts import Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.consumer_group_abstract.bugs import CommitsInAnyEpoch
from model.faults import InputFault
from model.idempotence_abstract.bugs import AnyEpoch
from model.language import Spec
from model.replication_abstract.versions import ReplicationProof
from model.transactions_abstract.versions import Transactions, Version1
from tests.checkers.symbolic.test_inductive_subset import UnfencesAnyBroker
from tests.checkers.symbolic.test_majorities import OneVoteDecides, Votes
from tests.checkers.symbolic.test_proof import Round


@cache
def conditions(make: Callable[[], Spec]) -> tuple[Script, ...]:
    spec = make()
    return tuple(scripts(spec, prove(spec)))


def verdicts(found: Agreement) -> dict[str, tuple[str, str]]:
    """Returns the verdicts of Z3 and cvc5 on each condition."""
    return {
        one.script.name: (one.script.condition.verdict, one.second.verdict)
        for one in found.compared
    }


@pytest.mark.parametrize("proved", [Transactions, Votes, Round])
def test_both_solvers_prove_every_condition(proved: Callable[[], Spec]) -> None:
    found = agreement(conditions(proved))
    assert set(verdicts(found).values()) == {("proved", "proved")}
    assert str(found).startswith(f"agrees on {found.agreed} of {len(found.compared)} conditions, ")


@pytest.mark.parametrize(
    ("bug", "refuted"),
    [
        (Version1, "append-no_hanging_transaction"),
        (AnyEpoch, "append_first-epochs_do_not_go_back"),
        (CommitsInAnyEpoch, "receive_response-one_member_commits"),
        (UnfencesAnyBroker, "lead-leaders_are_registered"),  # without a dropped claim
    ],
)
def test_both_solvers_refute_the_conditions_of_a_bug(bug: Callable[[], Spec], refuted: str) -> None:
    found = verdicts(agreement(conditions(bug)))
    assert found[refuted] == ("refuted", "refuted")
    assert set(found.values()) == {("refuted", "refuted"), ("proved", "proved")}


def test_a_verdict_that_differs_is_an_error() -> None:
    wrong = [
        replace(script, condition=replace(script.condition, verdict="proved"))
        for script in conditions(Version1)
    ]
    with pytest.raises(
        EnginesDisagree, match=r"^write_marker preserves atomic: proved by Z3, refuted by cvc5"
    ):
        agreement(wrong)


def test_a_condition_that_cvc5_leaves_unknown_is_counted_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    e_matching = replace(METHODS[0], part=1.0)  # which refutes nothing
    monkeypatch.setattr(second_solver, "METHODS", (e_matching,))
    found = agreement(conditions(Version1))
    assert found.agreed == 47
    assert len(found.unknown) == 4
    assert str(found).startswith(
        "agrees on 47 of 51 conditions, 4 unknown (write_marker-atomic, "
        "append-no_hanging_transaction, write_marker-faithful, append-pending_is_fresh), "
    )


def test_a_condition_that_only_cvc5_decides_is_counted_apart() -> None:
    open_still = [
        replace(script, condition=replace(script.condition, verdict="unknown"))
        for script in conditions(Round)
    ]
    found = agreement(open_still)
    assert (found.agreed, len(found.unknown), len(found.alone)) == (0, 0, len(open_still))


class TooSmall(Round):
    using: ClassVar[Using] = {("pass_on", "nobody_is_ahead"): ("the_latest_is_done",)}


def test_a_model_of_a_slice_refutes_nothing() -> None:
    (script,) = (s for s in conditions(TooSmall) if s.of_slice)
    assert check(script.of_slice, OF_FINITE_MODELS).verdict == "sat"
    assert second_solver.opinion(script).verdict == "proved"


def too_small(spec: Spec) -> Iterator[tuple[str, str]]:
    """A slice has the lemmas that the spec lists as sufficient for an action and a claim. Yields
    each action and claim whose slice does not suffice: it has a model in which the action makes the
    claim false.
    """
    sorts = Unbounded()
    induction = Induction(spec, Step(spec, Translation(sorts)))
    actions = {action.name: action for action in spec.actions}
    claims = {claim.name: claim for claim in spec.claims}
    for name, claim in induction.using:
        goal = induction.goal(actions[name], claims[claim])
        text = text_of(goal, goal.facts[0], sorts)
        if check(text, OF_FINITE_MODELS, units=400_000).verdict == "sat":
            yield name, claim


def test_no_slice_of_the_replication_proof_is_too_small() -> None:
    """A slice is a list of lemmas that should suffice for a condition. If a slice is too small, the
    proof is still right, but Z3 wastes time on the slice.
    """
    assert list(too_small(TooSmall())) == [("pass_on", "nobody_is_ahead")]
    assert list(too_small(ReplicationProof())) == []


def test_a_model_refutes_nothing_if_a_claim_has_no_formula() -> None:
    (script,) = (s for s in conditions(OneVoteDecides) if s.name == "one_decision-follows")
    refutes = second_solver.opinion(script)
    assert refutes.verdict == "refuted"
    partly = second_solver.opinion(replace(script, lacks_claims=True))
    assert partly.verdict == "unknown"
    assert "finite model finding: sat" in partly.how


WITHOUT_FINITE_MODELS = """
(set-logic UFDT)
(declare-sort Number 0)
(declare-fun zero () Number)
(declare-fun next (Number) Number)
(assert (forall ((a Number)) (not (= (next a) zero))))
(assert (forall ((a Number) (b Number)) (=> (= (next a) (next b)) (= a b))))
(check-sat)
"""


def test_a_limit_of_work_ends_a_query_at_the_same_point_each_time() -> None:
    first, second = (check(WITHOUT_FINITE_MODELS, OF_FINITE_MODELS, units=20_000) for _ in range(2))
    assert (first.verdict, first.reason) == ("unknown", "resourceout")
    assert 20_000 <= first.units == second.units < 21_000


def test_wall_time_ends_a_query_as_a_last_resort() -> None:
    answer = check(WITHOUT_FINITE_MODELS, OF_FINITE_MODELS, limit_ms=100)
    assert (answer.verdict, answer.reason) == ("unknown", "timeout")


def test_the_limit_of_work_is_for_all_methods_together(monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = (s for s in conditions(Version1) if s.name == "write_marker-atomic")
    assert second_solver.opinion(script).verdict == "refuted"
    few = second_solver.opinion(script, units=10_000)
    assert few.verdict == "unknown"
    assert few.how.count("resourceout") == len(METHODS)


def test_an_interruption_keeps_what_was_compared() -> None:
    def interrupt(_: object, number: int, of: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    found = agreement(conditions(Round), progress=interrupt)
    assert (found.interrupted, len(found.compared)) == (True, 2)
    assert str(found).startswith("agrees on 2 of 7 conditions, ")
    assert str(found).endswith(": interrupted")


def test_without_cvc5_an_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    monkeypatch.delitem(sys.modules, second_solver.__name__)
    with pytest.raises(InputFault, match=r"not installed\n  run: pip install 'urteil\[cvc5\]'"):
        __import__(second_solver.__name__)
