"""A small spec whose claim is true, and not inductive without a lemma."""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    all_of,
    any_of,
    forall,
    implies,
    invariant,
    lemma,
    when,
)


class Client(Sort):
    """A client."""


class Term(Ordered):
    """A term of the lease."""


class Lease(Spec):
    """A server grants a lease for each term to one client. The client learns of it, and writes."""

    now: Term
    holder: Map[Term, Client | Nothing]
    believes: Map[Client, Set[Term]]
    accepted: Map[Term, Set[Client]]

    def scope(s) -> Scope:
        return {Client: 2, Term: 3}

    def may_grant(s, term: Term) -> Bool:
        return s.now < term

    @action
    def grant(s, client: Client, term: Term) -> None:
        when(s.may_grant(term))
        s.now = term
        s.holder[term] = client

    @action
    def learn(s, client: Client, term: Term) -> None:
        when(s.holder[term] == client)
        s.believes[client][term] = True

    @action
    def write(s, client: Client, term: Term) -> None:
        when(s.believes[client][term])
        s.accepted[term][client] = True

    @invariant
    def one_writer(s) -> Bool:
        """In each term, at most one client writes."""
        return forall(
            implies(s.accepted[t][a] & s.accepted[t][b], a == b)
            for t in Term
            for a in Client
            for b in Client
        )


class GrantsTwice(Lease):
    """The server grants the lease for a term again, so two clients write in one term."""

    def may_grant(s, term: Term) -> Bool:
        return s.now <= term


class WithAFalseLemma(Lease):
    """A lemma of the user is false."""

    @lemma
    def nobody_writes(s) -> Bool:
        return forall(~s.accepted[t][c] for t in Term for c in Client)


class WithAnInductiveLemma(Lease):
    """The user has stated one of the lemmas that the claim needs."""

    @lemma
    def believers_hold(s) -> Bool:
        return forall(implies(s.believes[c][t], s.holder[t] == c) for c in Client for t in Term)


class Seat(Sort):
    """A seat."""


class TwoSeats(Lease):
    """The claim that at most two seats are taken is true with two seats, and false with three."""

    taken: Set[Seat]

    def scope(s) -> Scope:
        return {**super().scope(), Seat: 2}

    @action
    def take(s, a: Seat) -> None:
        s.taken[a] = True

    @invariant
    def at_most_two_are_taken(s) -> Bool:
        return forall(
            implies(all_of(s.taken[a], s.taken[b], s.taken[c]), any_of(a == b, b == c, a == c))
            for a in Seat
            for b in Seat
            for c in Seat
        )
