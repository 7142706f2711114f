"""Each step of `transactions verification` is zero, one or more steps of `coordinator-abstract`."""

from __future__ import annotations

from functools import cached_property

import pytest

from model.transactions.partition_bugs import KeepsGuard
from model.transactions.state import QUIET
from model.transactions.versions import Transactions, Verification
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_verification import (
    VerificationRefinement,
    VerifiedStates,
    WithoutEmptyEnds,
)
from properties.refinement.state_mapping import Step

ONE: Constants = {**QUIET, "transactions": 1}
LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
FAILS: Constants = {**ONE, **LATE, "coordinator_failures": 1, "leader_changes": 1}


def test_verification_with_failures_and_late_copies_refines_the_abstract_spec() -> None:
    """Every abstract action except `expire` explains some step: nothing expires in this version."""
    refinement = VerificationRefinement(Verification(**FAILS))
    walk = refinement.walk()
    assert (walk.pairs, walk.unexplained) == (1514, [])
    actions = {action.name for action in refinement.abstract.actions}
    assert {*walk.explained} == (actions | {"none"}) - {"expire"}


@pytest.mark.parametrize(
    ("detailed", "pairs"),
    [
        (WithoutEmptyEnds(**{**QUIET, "records_late": True, "markers_late": True}), 1839),
        (Verification(**{**ONE, "ids_expire": True}), 72),
        (Verification(**{**ONE, "partitions": 2}), 355),
        (Verification(**{**ONE, "instances": 2, "records_late": True}), 175),
    ],
)
def test_late_records_tombstones_partitions_and_instances_refine_the_abstract_spec(
    detailed: Transactions, pairs: int
) -> None:
    walk = VerificationRefinement(detailed).walk()
    assert (walk.pairs, walk.unexplained) == (pairs, [])


def test_a_guard_that_outlives_its_transaction_is_unexplained() -> None:
    walk = VerificationRefinement(KeepsGuard(**{**ONE, "records_late": True})).walk()
    assert {step.transition.action for step in walk.unexplained} == {
        "append_record",
        "write_marker",
    }


class NeverConfirms(VerifiedStates):
    def calls(self, step: Step) -> list[Call]:
        return [call for call in super().calls(step) if call.action != "confirm"]


class WrongRefinement(VerificationRefinement):
    @cached_property
    def states(self) -> VerifiedStates:
        return NeverConfirms(self.detailed)


def test_a_wrong_mapping_is_noticed() -> None:
    walk = WrongRefinement(Verification(**ONE)).walk()
    assert {step.transition.action for step in walk.unexplained} == {"verify"}
