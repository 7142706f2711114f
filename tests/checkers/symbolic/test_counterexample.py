"""If a condition of a proof is refuted, the counterexample is a step of the spec.

The reference interpreter can take this step.
"""

from __future__ import annotations

from itertools import product

import pytest

from checkers.symbolic import (
    CounterexampleToInduction,
    EnginesDisagree,
    NoneFound,
    counterexample_to_induction,
    prove,
)
from checkers.symbolic.small_scope import SmallScope
from model.idempotence_abstract.bugs import AnySequence, UncleanElection
from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import Bool, Scope, Set, Sort, Spec, SpecError, action, forall, invariant, when
from model.language.interpreter import Interpreter, State
from model.transactions_abstract.bugs import LaxMarkers
from model.transactions_abstract.versions import Transactions, Version1


def shown(spec: Spec, taken: str, claim: str) -> CounterexampleToInduction:
    found = counterexample_to_induction(spec, taken, claim)
    assert isinstance(found, CounterexampleToInduction), found
    return found


FAILING = [
    (Version1, "append", "no_hanging_transaction"),
    (Version1, "append", "pending_is_fresh"),
    (Version1, "write_marker", "atomic"),
    (Version1, "write_marker", "faithful"),
    (LaxMarkers, "write_marker", "atomic"),
    (LaxMarkers, "write_marker", "faithful"),
    (AnySequence, "append_next", "in_order_without_duplicates"),
    (UncleanElection, "change_leader", "committed_is_written"),
]


@pytest.mark.parametrize(("spec", "taken", "claim"), FAILING)
def test_a_counterexample_is_confirmed_by_the_interpreter(
    spec: type[Spec], taken: str, claim: str
) -> None:
    made = spec()
    found = shown(made, taken, claim)
    interpreter = Interpreter.of(made)
    step = next(a for a in made.actions if a.name == taken)
    assert [c.name for c in made.claims if not interpreter.holds(c.formula, found.state)] == []
    assert interpreter.step(step, found.state, tuple(found.arguments.values())) == found.after
    broken = next(c for c in made.claims if c.name == claim)
    assert not interpreter.holds(broken.formula, found.after)
    assert found.label == "a state of the candidate invariant, not known to be reachable"


def test_a_counterexample_is_printed_as_a_state_and_a_step() -> None:
    found = shown(Version1(), "append", "no_hanging_transaction")
    x = f"t{found.arguments['x']}"
    assert str(found).splitlines() == [
        f"append({x}, tp0) breaks no_hanging_transaction"
        "   (at 1 Producer, 2 Transaction, 1 TopicPartition, 4 ProducerEpoch)",
        "  a state of the candidate invariant, not known to be reachable:",
        f"    begun       {{{x}}}",
        f"    added[{x}]   {{tp0}}",
        f"    aborted     {{{x}}}",
        f"    complete    {{{x}}}",
        f"    marked[{x}]  {{tp0}}",
        "    (all other cells at their least values)",
        f"  append({x}, tp0) changes:",
        f"    written[{x}] {{}} → {{tp0}}",
        f"    pending[{x}] {{}} → {{tp0}}",
    ]


def test_the_state_of_a_counterexample_is_minimal() -> None:
    """In a counterexample, a variable has its least value unless the violation needs another one.

    Five variables have larger values. If any one of the five gets its least value, the violation
    disappears.
    """
    spec = Version1()
    found = shown(spec, "append", "no_hanging_transaction")
    interpreter = Interpreter.of(spec)
    step = next(a for a in spec.actions if a.name == "append")
    broken = next(c for c in spec.claims if c.name == "no_hanging_transaction")
    values = tuple(found.arguments.values())

    def still_shows(state: State) -> bool:
        after = interpreter.step(step, state, values)
        before = all(interpreter.holds(c.formula, state) for c in spec.claims)
        return before and after is not None and not interpreter.holds(broken.formula, after)

    loud = [cell for cell, value in found.state.items() if value != found.quiet[cell]]
    assert len(loud) == 5
    assert not any(still_shows({**found.state, cell: found.quiet[cell]}) for cell in loud)


def test_a_larger_scope_is_tried_if_the_specs_own_has_no_counterexample() -> None:
    """The search for a counterexample tries a larger scope if the spec's own scope has none.

    The spec's own scope has two sequence numbers, but a gap in a log needs three.
    """
    found = shown(AnySequence(), "append_next", "without_gaps")
    assert found.scope["Sequence"] == 3
    two = {Producer: 2, ProducerEpoch: 2, Sequence: 2, Offset: 4}
    none = counterexample_to_induction(AnySequence(), "append_next", "without_gaps", scope=two)
    assert isinstance(none, NoneFound)
    assert "2 Sequence" in str(none)


@pytest.mark.parametrize("spec", [Transactions(), IdempotentProducer()])
def test_a_proved_condition_has_no_counterexample(spec: Spec) -> None:
    for step, claim in product(spec.actions, spec.claims):
        found = counterexample_to_induction(spec, step.name, claim.name, scope=spec.scope())
        assert isinstance(found, NoneFound)
        assert str(found).startswith("no counterexample at ")


def test_a_reached_limit_is_reported() -> None:
    found = counterexample_to_induction(Transactions(), "write_marker", "faithful", units=9)
    assert isinstance(found, NoneFound)
    assert str(found).startswith("no answer within the limits: ")


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"no action 'write_markers'; the nearest: write_marker"):
        counterexample_to_induction(Transactions(), "write_markers", "faithful")
    with pytest.raises(SpecError, match=r"no claim 'faithfull'; the nearest: faithful"):
        counterexample_to_induction(Transactions(), "write_marker", "faithfull")


# ---- initial states, unreachable states, disagreement


class Lamp(Sort):
    """A lamp, which is on or off."""


class Lamps(Spec):
    """One lamp is on initially; no action switches a lamp on."""

    lit: Set[Lamp]

    def scope(s) -> Scope:
        return {Lamp: 2}

    def init(s, first: Lamp) -> None:
        s.lit[first] = True

    @action
    def switch_off(s, lamp: Lamp) -> None:
        when(s.lit[lamp])
        s.lit[lamp] = False

    @invariant
    def all_dark(s) -> Bool:
        return forall(~s.lit[lamp] for lamp in Lamp)


def test_an_initial_state_that_violates_a_claim_is_labelled_initial() -> None:
    found = shown(Lamps(), "init", "all_dark")
    assert found.label == "an initial state"
    assert list(found.by_variable()) == ["lit"]
    assert [c.action for c in prove(Lamps()).failed] == ["init"]


def test_a_disagreement_of_the_engines_is_never_shown_as_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Interpreter, "step", lambda *_: None)
    with pytest.raises(EnginesDisagree, match=r"append\(.*\) is enabled in Z3 only"):
        counterexample_to_induction(Version1(), "append", "no_hanging_transaction")


def test_states_of_z3_are_states_of_the_interpreter() -> None:
    at = SmallScope(Lamps(), {"Lamp": range(5, 8)})
    assert [cell for cell, _, _ in at.cells()] == [("lit", (k,)) for k in (5, 6, 7)]
    assert {cell for cell, _, _ in at.cells()} == set(at.interpreter.initial(Lamps())[0])
