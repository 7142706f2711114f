"""The conditions of a proof are proved, refuted, unknown, not translatable, or interrupted."""

from __future__ import annotations

from typing import ClassVar

import pytest

from checkers.symbolic import Condition, Proof, prove
from checkers.symbolic.induction import Induction, Using
from checkers.symbolic.portfolio import AT_LENGTH, attempts
from checkers.symbolic.sorts import Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.idempotence_abstract.bugs import AnyEpoch, AnySequence, UncleanElection
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    count,
    forall,
    implies,
    invariant,
    lemma,
    nothing,
    when,
)
from model.transactions_abstract.bugs import LaxMarkers
from model.transactions_abstract.versions import Transactions, Version1

SEEDS = range(3)


def failed(proof: Proof) -> set[str]:
    return {f"{c.action} {c.claim} {c.verdict}" for c in proof.failed}


def by_frame(proof: Proof) -> int:
    return sum(c.how == "frame" for c in proof.conditions)


# ---- the protocols


@pytest.mark.parametrize("seed", SEEDS)
def test_transactions_are_proved_for_scopes_of_any_size(seed: int) -> None:
    proof = prove(Transactions(), seed=seed)
    assert (proof.holds, proof.reason) == (True, "")
    assert (len(proof.conditions), by_frame(proof)) == (110, 59)
    assert {s.claim for s in proof.summaries if not s.lemma} == {
        "atomic",
        "no_hanging_transaction",
        "faithful",
    }
    assert {s.verdict for s in proof.summaries} == {"holds"}


@pytest.mark.parametrize("seed", SEEDS)
def test_version_1_fails_at_append_and_at_write_marker(seed: int) -> None:
    proof = prove(Version1(), seed=seed)
    assert failed(proof) == {
        "append no_hanging_transaction refuted",
        "append pending_is_fresh refuted",
        "write_marker atomic refuted",
        "write_marker faithful refuted",
    }
    assert {s.verdict for s in proof.summaries} == {"undecided"}
    assert "4 of 110 conditions not proved, at" in proof.reason


@pytest.mark.parametrize("seed", SEEDS)
def test_lax_markers_fail_at_write_marker(seed: int) -> None:
    assert failed(prove(LaxMarkers(), seed=seed)) == {
        "write_marker atomic refuted",
        "write_marker faithful refuted",
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_idempotent_producer_is_proved(seed: int) -> None:
    proof = prove(IdempotentProducer(), seed=seed)
    assert proof.holds
    assert (len(proof.conditions), by_frame(proof)) == (30, 8)


@pytest.mark.parametrize(
    ("bug", "where"),
    [
        (
            AnySequence,
            {
                "append_next in_order_without_duplicates refuted",
                "append_next without_gaps refuted",
            },
        ),
        (
            AnyEpoch,
            {
                "append_first in_order_without_duplicates refuted",
                "append_first epochs_do_not_go_back refuted",
            },
        ),
        (UncleanElection, {"change_leader committed_is_written refuted"}),
    ],
)
def test_bugs_of_the_idempotent_producer_fail(bug: type[Spec], where: set[str]) -> None:
    assert failed(prove(bug())) == where


# ---- small specs


class Turn(Ordered):
    """The turns of a game. They are ordered."""


class Player(Sort):
    """A player, who may have the turn."""


class Round(Spec):
    """`turn` counts up, and each player notes the turn in which it finishes.

    So no noted turn is above the current one.
    """

    turn: Turn
    finished: Map[Player, Turn]
    done: Set[Player]
    latest: Player | Nothing

    def scope(s) -> Scope:
        return {Turn: 3, Player: 2}

    @action
    def finish(s, p: Player) -> None:
        when(~s.done[p])
        s.finished[p] = s.turn
        s.done[p] = True
        s.latest = p

    @action
    def pass_on(s, following: Turn) -> None:
        when(following.is_next_after(s.turn))
        s.turn = following

    @invariant
    def nobody_is_ahead(s) -> Bool:
        return forall(s.finished[p] <= s.turn for p in Player)

    @invariant
    def the_latest_is_done(s) -> Bool:
        return forall(implies(s.latest == p, s.done[p]) for p in Player)

    @lemma
    def no_latest_without_one_who_is_done(s) -> Bool:
        return implies(forall(~s.done[p] for p in Player), s.latest == nothing)


def test_an_order_and_a_value_that_may_be_absent_are_proved() -> None:
    proof = prove(Round())
    assert proof.holds
    assert str(proof).startswith("Round: 9 conditions, 2 by frame, 0 not proved")


def test_progress_reports_every_condition_in_order() -> None:
    reports: list[tuple[str, int, int]] = []
    proof = prove(Round(), progress=lambda c, i, n: reports.append((f"{c.action} {c.claim}", i, n)))
    assert reports[0] == ("init nobody_is_ahead", 1, 9)
    assert reports[-1] == ("pass_on no_latest_without_one_who_is_done", 9, 9)
    assert [name for name, _, _ in reports] == [f"{c.action} {c.claim}" for c in proof.conditions]


def test_only_some_claims_prove_nothing_by_themselves() -> None:
    proof = prove(Round(), only=["the_latest_is_done"])
    assert {c.claim for c in proof.conditions} == {"the_latest_is_done"}
    assert not proof.failed
    assert not proof.holds
    assert proof.reason.startswith("the conditions of nobody_is_ahead, no_latest")


def test_an_interruption_keeps_what_is_decided() -> None:
    def interrupt(condition: Condition, number: int, of: int) -> None:
        if number == 4:
            raise KeyboardInterrupt

    proof = prove(Round(), progress=interrupt)
    assert proof.interrupted
    assert proof.reason == "interrupted"
    assert [c.verdict for c in proof.conditions] == ["proved"] * 4 + ["unknown"] * 5
    assert {c.how for c in proof.conditions[4:]} == {"interrupted"}


def test_an_interrupt_between_two_queries_ends_the_proof() -> None:
    polls = iter([False] * 3 + [True])

    def poll() -> None:
        if next(polls):
            raise KeyboardInterrupt

    proof = prove(Round(), poll=poll)
    assert proof.reason == "interrupted"
    assert {c.how for c in proof.conditions[-1:]} == {"interrupted"}


def test_a_tiny_limit_leaves_conditions_unknown() -> None:
    proof = prove(Transactions(), units=8, only=["one_after_another"])
    unknown = [c for c in proof.failed if c.verdict == "unknown"]
    assert unknown == list(proof.failed) != []
    attempts = next(c for c in unknown if c.action != "init").how.split("; ")
    assert [a.split(":")[0] for a in attempts] == [
        "e-matching",
        "finite scope",
        "finite scope",
        "ground instances",
        *(strategy.name for strategy in AT_LENGTH),
    ]
    assert "resource" in attempts[0]


def test_a_spec_without_claims_proves_nothing() -> None:
    class Silent(Spec):
        turn: Turn

    assert prove(Silent()).reason == "the spec has no claims"


# ---- slices


class Sliced(Round):
    using: ClassVar[Using] = {("finish", "nobody_is_ahead"): ("nobody_is_ahead",)}


def test_a_slice_is_tried_first() -> None:
    proof = prove(Sliced(), only=["nobody_is_ahead"])
    assert {c.action: c.how for c in proof.conditions} == {
        "init": "e-matching",
        "finish": "e-matching of a slice",
        "pass_on": "e-matching",
    }


def test_ground_instances_of_a_slice_come_before_a_query_with_all_claims() -> None:
    spec, sorts = Sliced(), Unbounded()
    finish = next(a for a in spec.actions if a.name == "finish")
    goal = Induction(spec, Step(spec, Translation(sorts))).goal(finish, spec.claims[0])
    names = [attempt.name for attempt in attempts(goal, sorts, lambda: iter(()))]
    assert names[:3] == ["e-matching of a slice", "ground instances of a slice", "e-matching"]


def test_a_too_small_slice_costs_time_but_not_soundness() -> None:
    slices = {("pass_on", "nobody_is_ahead"): ("the_latest_is_done",)}
    proof = prove(Round(), using=slices)
    assert proof.holds
    settled = next(c for c in proof.conditions if (c.action, c.claim) in slices)
    assert settled.how == "e-matching"


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"no claim 'nobody_ahead'; the nearest: nobody_is_ahead"):
        prove(Round(), only=["nobody_ahead"])
    with pytest.raises(SpecError, match=r"no action 'finnish'; the nearest: finish"):
        prove(Round(), using={("finnish", "nobody_is_ahead"): ()})
    with pytest.raises(SpecError, match=r"no claim 'the_latest'; the nearest: the_latest_is_done"):
        prove(Round(), using={("finish", "nobody_is_ahead"): ("the_latest",)})


# ---- words without an unbounded reading


class Counted(Round):
    @invariant
    def few_are_done(s) -> Bool:
        return count(s.done[p] for p in Player) <= 9


def test_a_word_that_cannot_be_translated_is_declined_with_a_reason() -> None:
    proof = prove(Counted())
    assert proof.reason.startswith("declined: a proof cannot use count(...)\n  make the")
    assert {c.claim for c in proof.failed} == {"few_are_done"}
    assert {c.action for c in proof.failed} == {"init", "finish"}  # the frame settles pass_on


def test_a_claim_that_cannot_be_translated_leaves_conditions_unknown() -> None:
    class Ahead(Counted):
        @action
        def skip(s, p: Player, later: Turn) -> None:
            s.finished[p] = later

    skipped = next(
        c
        for c in prove(Ahead(), limit_ms=2_000).conditions
        if (c.action, c.claim) == ("skip", "nobody_is_ahead")
    )
    assert skipped.verdict == "unknown"
    assert "cannot translate few_are_done" in skipped.how


class Offset(Int):
    """A position in the log."""


class Log(Spec):
    """A log that grows."""

    end: Offset

    @action
    def append(s) -> None:
        s.end = s.end + 1

    @invariant
    def not_negative(s) -> Bool:
        return s.end >= 0


def test_integers_are_declined() -> None:
    proof = prove(Log())
    assert {c.verdict for c in proof.conditions} == {"unknown"}
    assert proof.reason.startswith("declined: Offset is a sort of integers")
    assert "write Offset(Ordered), and is_next_after(...) instead" in proof.reason
