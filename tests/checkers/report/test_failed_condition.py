"""A failed condition of a proof shows the false conjunct, and names lemmas about its variables."""

from __future__ import annotations

from checkers.report.failed_condition import lemmas_about, why_condition_failed
from checkers.symbolic import CounterexampleToInduction, counterexample_to_induction
from model.transactions_abstract.versions import Version1


def test_the_false_conjunct_and_the_lemmas_to_look_at_are_printed() -> None:
    spec = Version1()
    found = counterexample_to_induction(spec, "append", "no_hanging_transaction")
    assert isinstance(found, CounterexampleToInduction)
    x = f"t{found.arguments['x']}"
    assert [*why_condition_failed(spec, found)] == [
        f"  false because    for x {x}, t tp0; {x} ∈ complete",
        f"                   but  tp0 ∉ pending[{x}]  is false",
        "  look at          pending_is_fresh, complete_is_marked: about complete, pending",
    ]


def test_a_lemma_that_fails_is_not_named_itself() -> None:
    spec = Version1()
    found = counterexample_to_induction(spec, "append", "pending_is_fresh")
    assert isinstance(found, CounterexampleToInduction)
    *_, named = why_condition_failed(spec, found)
    assert named.startswith("  look at          marked_is_decided, ")
    assert "pending_is_fresh" not in named


def test_without_a_lemma_about_the_variables_the_user_is_asked_for_one() -> None:
    spec = Version1()
    found = counterexample_to_induction(spec, "append", "no_hanging_transaction")
    assert isinstance(found, CounterexampleToInduction)
    assert lemmas_about(spec, found, frozenset({"no_variable"})) == []
