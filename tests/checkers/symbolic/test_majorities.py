"""Proofs assume that two majorities share an element; this is true of all small sets of voters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest

from checkers.symbolic import prove
from checkers.symbolic.majorities import UP_TO, disjoint, majorities
from model.language import (
    Bool,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    majority,
    true,
    when,
)


class Voter(Sort):
    """A voter."""


class Votes(Spec):
    """Voters vote for yes or for no, and a majority decides."""

    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "one_decision": ("a_majority_decides", "votes_are_given_once")
    }

    yes: Set[Voter]
    no: Set[Voter]
    accepted: Bool
    refused: Bool

    def scope(s) -> Scope:
        return {Voter: 3}

    @action
    def vote_yes(s, v: Voter) -> None:
        when(~s.no[v])
        s.yes[v] = True

    @action
    def vote_no(s, v: Voter) -> None:
        when(~s.yes[v])
        s.no[v] = True

    @action
    def accept(s) -> None:
        when(majority(s.yes[v] for v in Voter))
        s.accepted = true

    @action
    def refuse(s) -> None:
        when(s.enough(s.no))
        s.refused = true

    def enough(s, votes: Set[Voter]) -> Bool:
        return majority(votes[v] for v in Voter)

    @invariant
    def one_decision(s) -> Bool:
        """Yes and no are never both decided."""
        return ~(s.accepted & s.refused)

    @lemma
    def votes_are_given_once(s) -> Bool:
        return forall(~(s.yes[v] & s.no[v]) for v in Voter)

    @lemma
    def a_majority_decides(s) -> Bool:
        return implies(s.accepted, majority(s.yes[v] for v in Voter)) & implies(
            s.refused, s.enough(s.no)
        )


class OneVoteDecides(Votes):
    """One vote for no is enough to refuse; to accept, a majority must still vote yes."""

    def enough(s, votes: Set[Voter]) -> Bool:
        return exists(votes[v] for v in Voter)


class InACircle(Votes):
    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = {"one_decision": ("one_decision",)}


@pytest.mark.parametrize("size", range(1, UP_TO + 1))
def test_any_two_majorities_share_an_element(size: int) -> None:
    assert not disjoint(list(majorities(size)))


def test_two_halves_may_share_none() -> None:
    halves = [*majorities(2), frozenset({0}), frozenset({1})]
    assert len(disjoint(halves)) == 2


def test_votes_of_a_majority_are_proved_with_the_assumption() -> None:
    proof = prove(Votes())
    assert (proof.holds, proof.reason) == (True, "")
    assert len(proof.assumptions) == 1


def test_one_vote_does_not_decide() -> None:
    proof = prove(OneVoteDecides(), limit_ms=2_000)
    assert {c.claim for c in proof.failed} == {"one_decision"}


def test_no_claim_follows_from_itself() -> None:
    with pytest.raises(SpecError, match="one_decision follows from one_decision"):
        prove(InACircle())


def test_a_majority_of_the_members_of_a_set_is_refused() -> None:
    class OfASet(Votes):
        def enough(s, votes: Set[Voter]) -> Bool:
            return majority(s.yes[v] for v in votes)

    with pytest.raises(SpecError, match="ranges over a set"):
        prove(OfASet())
