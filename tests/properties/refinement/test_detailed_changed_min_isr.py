"""Every step of elections with a changed min.insync.replicas is none or more steps of the proved
spec.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checkers.explicit.search import explore
from model.election.changed_min_isr import ChangedMinIsr
from model.election.min_isr_bugs import AnswersWithoutMinIsr, ClearsElr, KeepsElrAtElection
from model.language.interpreter import State
from properties.refinement.behaviour import Call
from properties.refinement.detailed_changed_min_isr import (
    ChangedMinIsrRefinement,
    ReplicasWithChangedMinIsr,
)
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Transition

FALLS: Mapping[str, int | bool] = {"min_isr": 2, "other_min_isr": 1, "max_changes": 1}
RISES: Mapping[str, int | bool] = {"min_isr": 1, "other_min_isr": 2, "max_changes": 1}
NO_REASSIGNMENT: Mapping[str, int | bool] = {
    "replicas": 2,
    "assigned": 2,
    "max_reassignments": 0,
    "max_unclean": 0,
    "max_losses": 0,
}


def spec(**constants: int | bool) -> ReplicasWithChangedMinIsr:
    return ReplicasWithChangedMinIsr(**{**NO_REASSIGNMENT, "max_disruptions": 1, **constants})


@pytest.mark.parametrize("setting", [FALLS, RISES], ids=["lowered", "raised"])
def test_every_step_is_explained(setting: Mapping[str, int | bool]) -> None:
    walk = ChangedMinIsrRefinement(spec(**setting)).walk()
    assert (walk.pairs, walk.unexplained[:1]) == (0, [])
    assert {"change_min_isr", "receive_response", "learn_min_isr"} <= {*walk.explained}
