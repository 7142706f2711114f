"""If a claim cannot be proved, the other claims that do not need it are still proved."""

from __future__ import annotations

import pytest

from checkers.explicit.exploration import Budget
from checkers.explicit.search import explore
from checkers.symbolic import Condition, Proof, prove
from model.language import (
    Bool,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    when,
)
from model.specs import variants_of
from model.variants import Variant


class Broker(Sort):
    """A broker."""


class Registration(Spec):
    """A broker registers, is unfenced, leads, and may get a rack.

    Nothing removes a registration, and only unfenced brokers lead.
    """

    registered: Set[Broker]
    unfenced: Set[Broker]
    leads: Set[Broker]
    known: Set[Broker]
    racked: Set[Broker]

    def scope(s) -> Scope:
        return {Broker: 2}

    @action
    def register(s, b: Broker) -> None:
        s.registered[b] = True
        s.known[b] = True

    @action
    def unfence(s, b: Broker) -> None:
        when(s.registered[b])
        s.unfenced[b] = True

    @action
    def lead(s, b: Broker) -> None:
        when(s.unfenced[b])
        s.leads[b] = True

    @action
    def set_rack(s, b: Broker) -> None:
        when(s.known[b])
        s.racked[b] = True

    @invariant
    def leaders_are_registered(s) -> Bool:
        return forall(implies(s.leads[b], s.registered[b]) for b in Broker)

    @invariant
    def racks_are_of_known_brokers(s) -> Bool:
        return forall(implies(s.racked[b], s.known[b]) for b in Broker)

    @lemma
    def unfenced_are_registered(s) -> Bool:
        return forall(implies(s.unfenced[b], s.registered[b]) for b in Broker)

    @lemma
    def registered_are_known(s) -> Bool:
        return forall(implies(s.registered[b], s.known[b]) for b in Broker)


class UnfencesAnyBroker(Registration):
    """A broker is unfenced although it is not registered.

    So the lemma `unfenced_are_registered` fails. The claim `leaders_are_registered` needs this
    lemma, so the claim is undecided.
    """

    @action
    def unfence(s, b: Broker) -> None:
        s.unfenced[b] = True


class Chain(Registration):
    """Three claims. The first needs the second, and the second needs the third. Only the third has
    a failed condition.
    """

    @action
    def announce(s, b: Broker) -> None:
        s.known[b] = True

    @action
    def unfence(s, b: Broker) -> None:
        when(s.known[b])
        s.unfenced[b] = True

    @lemma
    def known_are_registered(s) -> Bool:
        return forall(implies(s.known[b], s.registered[b]) for b in Broker)


class NeedsNothing(Registration):
    """The spec `Registration` with a further lemma. The lemma is false, and no claim needs it."""

    @lemma
    def nobody_is_registered(s) -> Bool:
        return forall(~s.registered[b] for b in Broker)


class NoneRemains(Chain):
    """A spec whose only lemma fails, and whose invariants all need this lemma."""

    @invariant
    def racks_are_of_known_brokers(s) -> Bool:
        return forall(implies(s.leads[b], s.registered[b] & s.known[b]) for b in Broker)


def invariants(proof: Proof) -> dict[str, str]:
    return {s.claim: s.verdict for s in proof.summaries if not s.lemma}


def test_a_claim_that_does_not_need_the_failed_lemma_is_proved() -> None:
    proof = prove(NeedsNothing())
    assert [(c.action, c.claim) for c in proof.failed] == [("register", "nobody_is_registered")]
    assert not proof.holds
    assert proof.dropped == ("nobody_is_registered",)
    assert invariants(proof) == {
        "leaders_are_registered": "holds",
        "racks_are_of_known_brokers": "holds",
    }
    assert "not proved, at register (refuted); the other claims are proved without" in str(proof)
    assert str(proof).endswith("without nobody_is_registered")


def test_a_claim_that_needs_the_failed_lemma_stays_undecided() -> None:
    proof = prove(UnfencesAnyBroker())
    assert [(c.action, c.claim) for c in proof.failed] == [("unfence", "unfenced_are_registered")]
    assert proof.dropped == ("unfenced_are_registered", "leaders_are_registered")
    assert invariants(proof) == {
        "leaders_are_registered": "undecided",
        "racks_are_of_known_brokers": "holds",
    }
    why = "lead does not preserve it (refuted) without unfenced_are_registered"
    assert proof.why_undecided("leaders_are_registered") == why
    assert proof.why_undecided("racks_are_of_known_brokers") == ""
    assert proof.why_undecided("unfenced_are_registered") == proof.reason


def test_what_needs_a_claim_that_needs_the_failed_lemma_is_dropped_too() -> None:
    proof = prove(Chain())
    assert [(c.action, c.claim) for c in proof.failed] == [("announce", "known_are_registered")]
    assert proof.dropped == (
        "known_are_registered",
        "unfenced_are_registered",
        "leaders_are_registered",
    )
    assert invariants(proof)["leaders_are_registered"] == "undecided"


def test_without_an_invariant_the_search_ends() -> None:
    proof = prove(NoneRemains())
    assert (proof.dropped, proof.proved) == ((), frozenset())
    assert {s.verdict for s in proof.summaries} == {"undecided"}


def test_an_interruption_proves_nothing() -> None:
    def interrupt(condition: Condition, number: int, of: int) -> None:
        if of < 30:  # the conditions that are decided again
            raise KeyboardInterrupt

    proof = prove(UnfencesAnyBroker(), progress=interrupt)
    assert len(proof.conditions) < 30
    assert proof.interrupted
    assert proof.proved == frozenset()


def test_a_proof_of_some_claims_only_has_no_subset() -> None:
    proof = prove(NeedsNothing(), only=["racks_are_of_known_brokers"])
    assert (proof.subset, proof.proved) == (None, frozenset())


class Contradictory(Registration):
    """A lemma that contradicts an invariant."""

    @lemma
    def a_leader_is_not_registered(s) -> Bool:
        return exists(s.leads[b] & ~s.registered[b] for b in Broker)


def test_a_dropped_lemma_cannot_make_the_proof_vacuous() -> None:
    proof = prove(Contradictory())
    assert proof.vacuity.contradictory == ("a_leader_is_not_registered", "leaders_are_registered")
    assert proof.dropped == ("a_leader_is_not_registered",)
    assert set(invariants(proof).values()) == {"holds"}


class Jumps(NeedsNothing):
    """A spec with an action that is never enabled while the invariants hold."""

    @action
    def jump(s, b: Broker) -> None:
        when(s.racked[b], ~s.known[b])
        s.unfenced[b] = True


def test_a_subset_that_may_be_vacuous_proves_nothing() -> None:
    proof = prove(Jumps())
    assert proof.proved == frozenset()
    why = "vacuous: no state of the scope enables jump; a larger scope may"
    assert proof.why_undecided("racks_are_of_known_brokers") == why


FAST = ("read-committed-abstract", "transactions-abstract", "idempotence-abstract")
BROKEN = [v for spec in FAST for v in variants_of(spec) if v.breaks is not None]


@pytest.mark.parametrize("variant", BROKEN, ids=lambda v: f"{v.spec}-{v.name}")
def test_no_run_breaks_a_claim_that_is_proved_for_a_bug(variant: Variant) -> None:
    proof = prove(variant.make())
    found = explore(variant.make(variant.at), budget=Budget(states=300_000)).discoveries
    broken = {name for name, discovery in found.items() if discovery.verdict == "violated"}
    assert variant.breaks in broken
    assert not broken & proof.proved
