"""Equal terms are one object; a printed term uses the spec's names for its parts."""

from __future__ import annotations

from model.language import Bool, Int, Map, Set, Sort, Spec, action, exists, forall, invariant, when
from model.language import terms as t
from model.language.binding import close, substitute
from model.replication.versions import Kip101


class Broker(Sort):
    pass


class Offset(Int):
    pass


class Shared(Spec):
    up: Set[Broker]
    end: Map[Broker, Offset]

    @invariant
    def one(s) -> Bool:
        return forall(exists(s.end[a] < s.end[b] for b in Broker) for a in Broker)

    @invariant
    def other(s) -> Bool:
        return forall(exists(s.end[a] < s.end[b] for b in Broker) for a in Broker)

    @invariant
    def renamed(s) -> Bool:
        return forall(exists(s.end[x] < s.end[y] for y in Broker) for x in Broker)

    @invariant
    def inner(s) -> Bool:
        return exists(exists(s.end[a] < s.end[b] for b in Broker) for a in Broker)

    @action
    def step(s, a: Broker, b: Broker) -> None:
        """Sets the log ends of two brokers to the same offset."""
        furthest = s.end[a] + 1
        when(s.end[a] < s.end[b], furthest <= 3)
        s.end[a] = furthest
        s.end[b] = furthest


def test_equal_terms_are_one_object() -> None:
    spec = Shared()
    one, other, renamed, inner = (claim.formula for claim in spec.claims)
    assert one is other
    assert one is not renamed  # names are part of what is shown
    assert isinstance(one, t.Forall)
    assert isinstance(inner, t.Exists)
    assert one.body is inner.body
    assert Shared().claims[0].formula is one


def test_an_outer_binder_has_the_higher_level() -> None:
    formula = Shared().claims[0].formula
    assert isinstance(formula, t.Forall)
    assert isinstance(formula.body, t.Exists)
    assert formula.binders[0].level > formula.body.binders[0].level > 0


def test_substitution_does_not_capture_variables() -> None:
    x, y = t.Local(Broker.info, "x"), t.Local(Broker.info, "x")
    (inner,), body = close((y,), t.Eq(x, y))
    quantified = t.Exists((inner,), body)
    (outer,), whole = close((x,), quantified)
    assert inner is not outer
    assert isinstance(whole, t.Exists)
    assert whole.body is t.Eq(outer, inner)
    assert substitute(whole, {outer: x}) is quantified


def test_an_action_is_printed_with_the_names_in_the_spec() -> None:
    (step,) = Shared().actions
    line = step.guards[0].line
    assert step.describe() == (
        "step(a: Broker, b: Broker)\n"
        "  Sets the log ends of two brokers to the same offset.\n"
        f"  when end[a] < end[b]  (line {line})\n"
        f"  when end[a] + 1 <= 3  (line {line})\n"
        "  end[a] = end[a] + 1\n"
        "  end[b] = end[a] + 1"
    )


def test_a_large_repeated_term_is_printed_on_its_own_line() -> None:
    follow = next(a for a in Kip101().actions if a.name == "become_follower")
    text = follow.describe()
    assert text.count("first(offset with") == 1
    assert "  log.end_offset[follower] = end\n" in text
    assert "\n  where end = (0 if log.end_offset[follower] == 0 else " in text
    assert max(map(len, text.splitlines())) < 400
