"""The proposed lemmas prove a claim. No lemmas are proposed for a false claim."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from checkers.lemmas.proposing import Proposal, Proposer
from checkers.lemmas.text import with_lemmas
from checkers.symbolic import prove
from model.language import Bool, Scope, Set, Sort, Spec, action, exists, invariant, when
from model.specs import find
from tests.checkers.lemmas.lease import (
    GrantsTwice,
    Lease,
    TwoSeats,
    WithAFalseLemma,
    WithAnInductiveLemma,
)


def proposed(spec: Spec, *, seconds: float | None = None, candidates: int = 1_000) -> Proposal:
    proof = prove(spec)
    targets = [c.name for c in spec.claims if not c.lemma and c.name not in proof.proved]
    return Proposer(spec, targets, prove, candidates=candidates, seconds=seconds).run()


def test_without_a_lemma_the_proof_fails_and_with_the_proposed_ones_it_succeeds() -> None:
    assert not prove(Lease()).proved
    found = proposed(Lease())
    assert (found.proves, found.missing, found.why) == (("one_writer",), (), "")
    assert [str(one.text) for one in found.lemmas] == [
        "forall(implies(s.accepted[t][a], s.holder[t] == a) for t in Term for a in Client)",
        "forall(implies(s.believes[a][t], s.holder[t] == a) for t in Term for a in Client)",
        "forall(~all_of(s.may_grant(t), s.holder[t] == a) for t in Term for a in Client)",
    ]
    assert prove(with_lemmas(Lease(), [one.claim for one in found.lemmas])).holds


def test_each_proposed_lemma_is_needed() -> None:
    claims = [one.claim for one in proposed(Lease()).lemmas]
    for k in range(len(claims)):
        assert not prove(with_lemmas(Lease(), [*claims[:k], *claims[k + 1 :]])).holds


def test_a_false_claim_is_never_proved() -> None:
    found = proposed(GrantsTwice())
    assert (found.proves, found.lemmas, found.false) == ((), (), ("one_writer",))
    assert found.why == "a claim is false"


class Broker(Sort):
    """A broker."""


class Outage(Spec):
    """All brokers may stop."""

    down: Set[Broker]

    def scope(s) -> Scope:
        return {Broker: 2}

    @action
    def stop(s, b: Broker) -> None:
        when(~s.down[b])
        s.down[b] = True

    @invariant
    def a_broker_is_up(s) -> Bool:
        return exists(~s.down[b] for b in Broker)


def test_a_false_claim_that_exploration_does_not_reach_is_not_proved_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exploration visits only the initial states. In these, every claim and most candidates are
    true.
    """
    for module in ("scoped", "proposing"):
        initial_only = f"checkers.lemmas.{module}.reached"
        monkeypatch.setattr(initial_only, lambda program, starts, **_: list(starts))
    for spec in (Outage(), GrantsTwice()):
        found = proposed(spec)
        assert (found.proves, found.lemmas) == ((), ())


def test_a_claim_that_is_true_at_a_small_scope_only_is_not_proved() -> None:
    assert {d.verdict for d in explore(TwoSeats()).discoveries.values()} == {"holds"}
    found = proposed(TwoSeats())
    assert (found.proves, found.missing) == (("one_writer",), ("at_most_two_are_taken",))
    assert (found.false, found.why) == (("at_most_two_are_taken",), "a claim is false")


def test_ctrl_c_keeps_the_lemmas_that_prove_a_claim() -> None:
    def poll() -> None:
        if search.best.proves:
            raise KeyboardInterrupt

    targets = ["one_writer", "at_most_two_are_taken"]
    search = Proposer(TwoSeats(), targets, prove, poll=poll)
    found = search.run()
    assert (found.proves, found.why) == (("one_writer",), "interrupted")
    assert len(found.lemmas) == 3


def test_lemmas_of_the_spec_are_used_and_false_ones_are_not() -> None:
    found = proposed(WithAnInductiveLemma())
    assert len(found.lemmas) == 2
    assert found.proves == ("one_writer",)
    assert proposed(WithAFalseLemma()).proves == ("one_writer",)


def test_the_budget_ends_the_search() -> None:
    found = proposed(Lease(), seconds=0.0)
    assert (found.proves, found.why) == ((), "the budget is spent")


def test_too_few_candidates_prove_nothing() -> None:
    found = proposed(Lease(), candidates=2)
    assert (found.proves, found.why) == ((), "no candidates are left")
    assert found.tried <= 2


def test_every_lemma_of_transactions_is_found_without_help() -> None:
    whole = find("transactions-abstract", None).make()
    spec = with_lemmas(whole, (), [c.name for c in whole.claims if c.lemma])
    found = proposed(spec)
    assert set(found.proves) == {"atomic", "faithful", "no_hanging_transaction"}
    assert prove(with_lemmas(spec, [one.claim for one in found.lemmas])).holds


def test_the_broken_claim_of_a_bug_is_not_proved() -> None:
    variant = find("transactions-abstract", "lax-markers")
    spec = variant.make(variant.at)
    assert variant.breaks is not None
    found = Proposer(spec, [variant.breaks], prove, candidates=200).run()
    assert (found.proves, found.missing) == ((), (variant.breaks,))
