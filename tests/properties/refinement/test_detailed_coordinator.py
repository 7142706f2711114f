"""Each step of the spec `transactions` is zero, one or more steps of `coordinator-abstract`.

Here `transactions` is called the detailed spec, because it is more detailed than the abstract one.
"""

from __future__ import annotations

import pytest

from model.transactions.coordinator_bugs import FenceKeepsId
from model.transactions.partition_bugs import RefusesRepeatedMarkers
from model.transactions.state import QUIET
from model.transactions.versions import LaxMarkers, Transactions
from model.variants import Constants
from properties.refinement.behaviour import Call
from properties.refinement.detailed_coordinator import Refinement
from properties.refinement.state_mapping import Step

ONE: Constants = {**QUIET, "transactions": 1}
FAILS: Constants = {**ONE, "coordinator_failures": 1}
LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}


def test_a_failed_coordinator_and_late_copies_refine_the_abstract_spec() -> None:
    """Every abstract action except `expire` explains some step: nothing expires in this version."""
    refinement = Refinement(Transactions(**{**FAILS, **LATE}))
    walk = refinement.walk()
    assert (walk.states, walk.disagreements, walk.unexplained) == (525, 0, {})
    actions = {action.name for action in refinement.abstract.actions}
    assert {*walk.explained} == (actions | {"none"}) - {"expire"}


@pytest.mark.parametrize(
    ("constants", "states"),
    [({**QUIET, **LATE}, 566), ({**ONE, "ids_expire": True}, 63), ({**ONE, "partitions": 2}, 256)],
)
def test_late_copies_tombstones_and_two_partitions_refine_the_abstract_spec(
    constants: Constants, states: int
) -> None:
    walk = Refinement(Transactions(**constants)).walk()
    assert (walk.states, walk.disagreements, walk.unexplained) == (states, 0, {})


def test_a_fence_that_keeps_the_producer_id_is_unexplained() -> None:
    assert {*Refinement(FenceKeepsId(**QUIET)).walk().unexplained} == {"fence"}


@pytest.mark.parametrize(
    ("wrong", "constants"),
    [(LaxMarkers, {**ONE, "markers_late": True}), (RefusesRepeatedMarkers, FAILS)],
)
def test_a_wrong_check_of_markers_is_a_disagreement(
    wrong: type[Transactions], constants: Constants
) -> None:
    assert Refinement(wrong(**constants)).walk().disagreements


class ForgetsToCommit(Refinement):
    def calls(self, step: Step) -> list[Call]:
        return [call for call in super().calls(step) if call.action != "commit_append"]


def test_a_wrong_mapping_is_noticed() -> None:
    assert "init_producer" in ForgetsToCommit(Transactions(**ONE)).walk().unexplained
