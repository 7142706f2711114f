"""Z3 reads the conditions of a proof in SMT-LIB, and decides them as it did in the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
import z3

from checkers.symbolic import prove
from checkers.symbolic.smtlib import STATUS, Script, scripts
from model.language import Spec
from model.transactions_abstract.versions import Transactions, Version1
from tests.checkers.symbolic.test_inductive_subset import NoneRemains, UnfencesAnyBroker
from tests.checkers.symbolic.test_majorities import Votes
from tests.checkers.symbolic.test_proof import Sliced


@cache
def written(make: Callable[[], Spec]) -> Mapping[str, Script]:
    spec = make()
    found = list(scripts(spec, prove(spec)))
    assert len({script.name for script in found}) == len(found)  # each has a file of its own
    return {script.name: script for script in found}


def decided(text: str) -> str:
    solver = z3.Solver(ctx=z3.Context())
    solver.set(timeout=5_000)
    solver.from_string(text)
    return str(solver.check())


@pytest.mark.parametrize("spec", [Transactions, Version1, Votes, UnfencesAnyBroker])
def test_z3_decides_a_script_as_it_decided_the_condition(spec: Callable[[], Spec]) -> None:
    for name, script in written(spec).items():
        assert (name, decided(script.file())) == (name, STATUS[script.condition.verdict])


def test_every_condition_that_needs_a_solver_has_a_script() -> None:
    proof = prove(Transactions())
    solved = {f"{c.action}-{c.claim}" for c in proof.conditions if c.how != "frame"}
    assert written(Transactions).keys() == solved
    assert len(solved) == 51


def test_no_script_is_about_a_condition_by_frame_or_by_consequence() -> None:
    proof = prove(Votes())
    assert (len(proof.conditions), proof.by_frame, proof.by_consequence) == (15, 2, 4)
    assert len(written(Votes)) == 15 - 2 - 4
    assert str(proof).startswith("Votes: 15 conditions, 2 by frame, 4 by consequence, 0 not")


def test_a_script_has_the_condition_the_guard_and_every_claim() -> None:
    text = written(Version1)["append-pending_is_fresh"].file()
    assert text.startswith("; append preserves pending_is_fresh: refuted by Z3\n")
    assert "(set-info :status sat)\n(set-logic UFDT)\n" in text
    assert "; the guard of the action\n(assert (begun append.x))" in text
    comments = [line for line in text.splitlines() if line.startswith("; before: ")]
    assert comments == [f"; before: {claim.name}" for claim in Version1().claims]
    assert text.count("; after: the claim is false") == 1


def test_without_the_claim_after_the_step_nothing_is_contradictory() -> None:
    text = written(Transactions)["append-pending_is_fresh"].text
    before, _, _ = text.partition("; after: the claim is false")
    assert decided(f"{before}(check-sat)") == "sat"


def test_a_condition_of_a_proved_claim_does_not_assume_a_dropped_claim() -> None:
    found = written(UnfencesAnyBroker)
    lost = "unfenced_are_registered"
    assert found["set_rack-racks_are_of_known_brokers"].without == (
        "leaders_are_registered",
        lost,
    )
    assert lost not in found["set_rack-racks_are_of_known_brokers"].text
    refuted = {name: s.without for name, s in found.items() if s.condition.verdict == "refuted"}
    assert refuted == {
        f"unfence-{lost}": (),
        "lead-leaders_are_registered": (lost,),  # proved only with the dropped claim
    }
    assert f"; without the dropped claims {lost}\n" in found["lead-leaders_are_registered"].file()


def test_if_no_claim_is_proved_each_condition_assumes_every_claim() -> None:
    assert {script.without for script in written(NoneRemains).values()} == {()}


def test_a_claim_that_follows_from_others_has_one_script() -> None:
    about = {name: script for name, script in written(Votes).items() if "one_decision" in name}
    assert list(about) == ["one_decision-follows"]
    text = about["one_decision-follows"].file()
    assert text.startswith("; one_decision follows from other claims: proved by Z3\n")
    assert "; before: votes_are_given_once\n" in text
    assert "; the guard" not in text


def test_a_slice_is_a_script_of_its_own() -> None:
    found = written(Sliced)
    assert {name for name, script in found.items() if script.of_slice} == {"finish-nobody_is_ahead"}
    assert "; before: the_latest_is_done" not in found["finish-nobody_is_ahead"].of_slice
    assert "; before: the_latest_is_done" in found["finish-nobody_is_ahead"].text
