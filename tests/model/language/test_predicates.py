"""The predicates of a spec are its methods that return a formula and have no decorator."""

from __future__ import annotations

from model.language import Bool, Set, Sort, Spec, action, forall, invariant, when
from model.language.binding import substitute


class Broker(Sort):
    """A broker."""


class Elections(Spec):
    alive: Set[Broker]
    leads: Set[Broker]

    def may_lead(s, b: Broker) -> Bool:
        return s.alive[b] & s.is_vacant()

    def is_vacant(s) -> Bool:
        return forall(~s.leads[b] for b in Broker)

    def first(s, b: Broker) -> Broker:
        """Not a predicate: it returns an element, not a formula."""
        return b

    def among(s, brokers: Set[Broker]) -> Bool:
        """Not a predicate of elements: its parameter is a set."""
        return forall(brokers[b] for b in Broker)

    @action
    def lead(s, b: Broker) -> None:
        when(s.may_lead(b))
        s.leads[b] = True

    @invariant
    def the_living_lead(s) -> Bool:
        return forall(s.alive[b] for b in s.leads)


class OnlyAliveOnes(Elections):
    def may_lead(s, b: Broker) -> Bool:
        return s.alive[b]


def test_each_predicate_has_its_parameters_and_its_formula() -> None:
    spec = Elections()
    assert [p.name for p in spec.predicates] == ["may_lead", "is_vacant"]
    may_lead, is_vacant = spec.predicates
    assert [(x.name, x.sort.name) for x in may_lead.params] == [("b", "Broker")]
    assert is_vacant.params == ()
    (lead,) = spec.actions
    called = substitute(may_lead.formula, {may_lead.params[0]: lead.params[0]})
    assert called is lead.guards[0].formula


def test_a_variant_replaces_a_predicate() -> None:
    formulas = {p.name: p.formula for p in OnlyAliveOnes().predicates}
    before = {p.name: p.formula for p in Elections().predicates}
    assert formulas["is_vacant"] is before["is_vacant"]
    assert formulas["may_lead"] is not before["may_lead"]
