"""A proof is vacuous if its claims contradict each other or an action is never enabled."""

from __future__ import annotations

from checkers.symbolic import prove, vacuity_of
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import Bool, Ordered, Scope, Spec, action, invariant, lemma, when
from model.transactions_abstract.bugs import LaxMarkers
from model.transactions_abstract.versions import Transactions, Version1

LIMIT_MS = 5_000


class Turn(Ordered):
    """An ordered type: turns follow one another."""


class Clock(Spec):
    """A spec with two variables. `turn` advances, and `hand` then gets the value of `turn`."""

    turn: Turn
    hand: Turn

    def scope(s) -> Scope:
        return {Turn: 3}

    @action
    def tick(s, following: Turn) -> None:
        when(following.is_next_after(s.turn))
        s.turn = following

    @action
    def follow(s) -> None:
        s.hand = s.turn

    @invariant
    def never_ahead(s) -> Bool:
        return s.hand <= s.turn


class Contradiction(Clock):
    """A clock with a lemma that contradicts its invariant. No state satisfies both. So every
    condition of the proof is true, because it assumes both.
    """

    @lemma
    def late(s) -> Bool:
        return s.turn < s.hand


class Stuck(Clock):
    """A clock with an action whose guard contradicts the invariant."""

    @action
    def jump(s, later: Turn) -> None:
        when(s.turn < s.hand)
        s.turn = later


def test_the_protocols_are_not_vacuous() -> None:
    for spec in (Transactions(), LaxMarkers(), Version1(), IdempotentProducer(), Clock()):
        assert vacuity_of(spec, limit_ms=LIMIT_MS).reason == ""
    assert prove(Clock()).holds


def test_contradictory_claims_are_named() -> None:
    proof = prove(Contradiction())
    assert [(c.action, c.claim) for c in proof.failed] == [("init", "late")]
    assert proof.vacuity.contradictory == ("late", "never_ahead")
    expected = "vacuous: no state of the scope satisfies all of late, never_ahead"
    assert proof.vacuity.reason == expected


def test_an_action_that_the_invariant_never_enables_is_named() -> None:
    proof = prove(Stuck())
    assert not proof.failed
    assert not proof.holds
    assert proof.reason == "vacuous: no state of the scope enables jump; a larger scope may"


def test_a_too_small_scope_leaves_an_action_disabled() -> None:
    assert vacuity_of(Clock(), {Turn: 1}, limit_ms=LIMIT_MS).never_enabled == ("tick",)


def test_without_a_scope_nothing_is_checked_and_nothing_holds() -> None:
    class Unscoped(Clock):
        def scope(s) -> Scope:
            return {}

    proof = prove(Unscoped())
    assert not proof.failed
    assert proof.reason == "vacuity was not checked: the spec has no scope"


def test_a_reached_limit_leaves_vacuity_undecided() -> None:
    found = vacuity_of(Transactions(), units=1)
    assert "cannot decide if begin is enabled: " in found.reason
