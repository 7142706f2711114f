"""Claims about steps and about whole behaviours: how they are evaluated, and their errors."""

from __future__ import annotations

from typing import Self

import pytest

from model.language import (
    Bool,
    Int,
    Map,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    Temporal,
    action,
    action_property,
    always_eventually,
    eventually,
    eventually_always,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    when,
)
from model.language.behaviours import Lasso, is_fair, true_of
from model.language.interpreter import Interpreter, State, joined
from model.language.show import show


class Door(Sort):
    pass


class Count(Int):
    pass


class Doors(Spec):
    """Doors that open and close, with a counter for each door."""

    open: Set[Door]
    opened: Map[Door, Count]

    def scope(s) -> Scope:
        return {Door: 2, Count: range(4)}

    @action(fair="weak")
    def close(s, d: Door) -> None:
        when(s.open[d])
        s.open[d] = False

    @action(fair="strong")
    def open_it(s, d: Door) -> None:
        when(~s.open[d], s.opened[d] < 3)
        s.open[d] = True
        s.opened[d] = s.opened[d] + 1

    @action
    def knock(s, d: Door) -> None:
        s.open[d] = s.open[d]

    @action_property
    def counts_never_go_back(s, after: Self) -> Bool:
        """A count never decreases."""
        return forall(s.opened[d] <= after.opened[d] for d in Door)

    @action_property
    def opening_counts(s, after: Self) -> Bool:
        return forall(
            implies(s.shut(d) & ~after.shut(d), after.opened[d] == s.opened[d] + 1) for d in Door
        )

    def shut(s, d: Door) -> Bool:
        return ~s.open[d]

    @liveness
    def every_door_closes(s, d: Door) -> Temporal:
        """An open door eventually closes."""
        return leads_to(s.open[d], ~s.open[d])

    @liveness
    def opens_once(s, d: Door) -> Temporal:
        return eventually(s.open[d])

    @liveness
    def opens_for_ever(s, d: Door) -> Temporal:
        return always_eventually(s.open[d])

    @liveness
    def rests(s) -> Temporal:
        return eventually_always(forall(~s.open[d] for d in Door))


SPEC = Doors()
AT = Interpreter.of(SPEC)
CLAIMS = {c.name: c for c in SPEC.liveness_properties}


def state(*, open_: tuple[int, ...] = (), opened: tuple[int, int] = (0, 0)) -> State:
    return {
        **{("open", (d,)): d in open_ for d in range(2)},
        **{("opened", (d,)): opened[d] for d in range(2)},
    }


def test_a_claim_about_steps_reads_the_state_before_and_after() -> None:
    back, counted = SPEC.action_properties
    assert (back.name, back.summary) == ("counts_never_go_back", "A count never decreases.")
    assert show(back.formula) == "forall(opened[d] <= opened'[d] for d in Door)"
    grows = joined(state(), state(open_=(0,), opened=(1, 0)))
    shrinks = joined(state(opened=(2, 0)), state(open_=(0,), opened=(1, 0)))
    assert [AT.holds(c.formula, grows) for c in (back, counted)] == [True, True]
    assert [AT.holds(c.formula, shrinks) for c in (back, counted)] == [False, False]


def test_a_claim_about_behaviours_is_data() -> None:
    claim = CLAIMS["every_door_closes"]
    assert (claim.kind, show(claim.premise), show(claim.goal)) == (
        "leads to",
        "open[d]",
        "~open[d]",
    )
    assert [p.name for p in claim.params] == ["d"]
    assert claim.summary == "An open door eventually closes."
    assert [a.fair for a in SPEC.actions] == ["weak", "strong", None]
    assert "close(d: Door)  weakly fair" in SPEC.actions[0].describe()


SHUT, LEFT, RIGHT = state(), state(open_=(0,)), state(open_=(1,))
BOTH = state(open_=(0, 1))


@pytest.mark.parametrize(
    ("states", "loop", "true"),
    [
        ([SHUT], 0, {"every_door_closes", "rests"}),
        ([SHUT, LEFT], 1, set()),
        ([SHUT, BOTH, SHUT], 2, {"every_door_closes", "opens_once", "rests"}),
        ([LEFT, RIGHT], 0, {"every_door_closes", "opens_once", "opens_for_ever"}),
        ([LEFT, RIGHT, RIGHT], 2, {"opens_once"}),
        ([SHUT, BOTH], 1, {"opens_once", "opens_for_ever"}),
        ([BOTH, SHUT, LEFT, RIGHT], 1, {"every_door_closes", "opens_once", "opens_for_ever"}),
    ],
)
def test_a_claim_is_true_or_false_of_a_lasso(
    states: list[State], loop: int, true: set[str]
) -> None:
    lasso = Lasso(states, loop)
    assert {name for name, claim in CLAIMS.items() if true_of(AT, claim, lasso)} == true


FULL = {"opened": (3, 3)}
DONE, LAST = state(**FULL), state(open_=(0,), **FULL)
ONCE, AGAIN = state(opened=(1, 3)), state(open_=(0,), opened=(2, 3))


def test_stuttering_is_fair_where_no_fair_action_would_change_the_state() -> None:
    assert is_fair(AT, SPEC, Lasso([DONE], 0))
    assert not is_fair(AT, SPEC, Lasso([LAST], 0))  # close stays enabled and is not taken
    assert not is_fair(AT, SPEC, Lasso([ONCE], 0))


def test_weak_and_strong_fairness_differ_for_an_action_enabled_infinitely_often() -> None:
    """An action is enabled again and again, but never taken: this is fair only under weak fairness.

    In the lasso, door 1 opens and shuts for ever, and door 0 is never opened.
    """

    class Polite(Doors):
        @action(fair="weak")
        def open_it(s, d: Door) -> None:
            when(forall(~s.open[x] for x in Door), s.opened[d] < 3)
            s.open[d] = True

    class Strong(Polite):
        @action(fair="strong")
        def open_it(s, d: Door) -> None:
            when(forall(~s.open[x] for x in Door), s.opened[d] < 3)
            s.open[d] = True

    lasso = Lasso([SHUT, RIGHT], 0)
    assert is_fair(AT, Polite(), lasso)
    assert not is_fair(AT, Strong(), lasso)


def refused(cls: type[Spec]) -> str:
    spec = cls()
    with pytest.raises(SpecError) as caught:
        _ = (spec.actions, spec.claims, spec.action_properties, spec.liveness_properties)
    return str(caught.value)


def test_a_statement_without_a_meaning_is_refused() -> None:
    class Assigns(Doors):
        @action_property
        def claim(s, after: Self) -> Bool:
            after.open = s.open
            return after.open == s.open

    class NoTime(Doors):
        @liveness
        def claim(s) -> Temporal:
            return forall(s.open[d] for d in Door)  # type: ignore[return-value] # the mistake

    class NoFormula(Doors):
        @liveness
        def claim(s, d: Door) -> Temporal:
            return eventually(s.opened[d])  # type: ignore[arg-type] # the mistake

    class BehaviourIsNoState(Doors):
        @invariant
        def claim(s) -> Bool:
            return eventually(forall(s.open[d] for d in Door))  # type: ignore[return-value]

    assert "an action property assigns open\n  only actions and init may" in refused(Assigns)
    no_time = refused(NoTime)
    assert "the liveness property returns no formula about behaviours" in no_time
    assert no_time.startswith("NoTime.claim, line ")
    assert "return leads_to(p, q)" in no_time
    assert "a term of Count is not a formula" in refused(NoFormula)
    assert "the invariant returns a formula about behaviours" in refused(BehaviourIsNoState)
    with pytest.raises(SpecError, match="fair='weak' or fair='strong', not 'always'"):
        action(fair="always")  # type: ignore[call-overload] # the mistake
