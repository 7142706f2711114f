"""Each step of `election changed-min-isr` is zero, one or more steps of `reassignment-abstract
changed-min-isr`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checkers.explicit.search import explore
from model.election.changed_min_isr import ChangedMinIsr
from model.election.min_isr_bugs import AnswersWithoutMinIsr, ClearsElr
from model.language.interpreter import State
from properties.refinement.behaviour import Call
from properties.refinement.detailed_changed_min_isr import (
    ChangedMinIsrRefinement,
    ReplicasWithChangedMinIsr,
)
from properties.refinement.history_mapping import Transition

LOWERED: Mapping[str, int | bool] = {"min_isr": 2, "other_min_isr": 1, "max_changes": 1}
RAISED: Mapping[str, int | bool] = {"min_isr": 1, "other_min_isr": 2, "max_changes": 1}
NO_REASSIGNMENT: Mapping[str, int | bool] = {"replicas": 2, "assigned": 2, "max_reassignments": 0}
QUIET: Mapping[str, int | bool] = {**NO_REASSIGNMENT, "max_disruptions": 0}


@pytest.mark.parametrize(
    ("minimum", "pairs"), [(LOWERED, 138), (RAISED, 169)], ids=["lowered", "raised"]
)
def test_every_step_is_explained(minimum: Mapping[str, int | bool], pairs: int) -> None:
    walk = ChangedMinIsrRefinement(ReplicasWithChangedMinIsr(**{**QUIET, **minimum})).walk()
    assert (walk.pairs, walk.unexplained) == (pairs, [])
    assert {"change_min_isr", "receive_response", "learn_min_isr"} <= {*walk.explained}


def test_every_step_of_random_walks_is_explained() -> None:
    """The walks have two changes of min.insync.replicas, and two disruptions: moved leaders,
    expired sessions or shutdowns.
    """
    spec = ReplicasWithChangedMinIsr(**NO_REASSIGNMENT, max_disruptions=2)
    walk = ChangedMinIsrRefinement(spec).random_walks(12, length=40, seed=1)
    assert not walk.unexplained
    assert {"elect", "elect_eligible", "elect_nobody", "change_min_isr"} <= {*walk.explained}


def test_without_reassignments_the_spec_is_election() -> None:
    """Without reassignments, both specs have the same numbers of states and transitions. So the
    mapping also counts as one of `election changed-min-isr`.
    """
    faults = {"max_disruptions": 0, "max_changes": 1}
    specs = ChangedMinIsr(**faults), ReplicasWithChangedMinIsr(**{**NO_REASSIGNMENT, **faults})
    found = [explore(spec) for spec in specs]
    assert len({(one.distinct, one.generated, one.depth) for one in found}) == 1
    assert all(one.exhausted for one in found)


class Clears(ClearsElr, ReplicasWithChangedMinIsr):
    """A change of min.insync.replicas always clears the ELR."""


class Answers(AnswersWithoutMinIsr, ReplicasWithChangedMinIsr):
    """The response to AlterPartition has no min.insync.replicas."""


@pytest.mark.parametrize(
    ("spec", "action"),
    [
        (Clears(**{**NO_REASSIGNMENT, **LOWERED, "max_disruptions": 2}), "change_min_isr"),
        (Answers(**{**QUIET, **RAISED}), "take_answer"),
    ],
    ids=["clears-elr", "answers-without-min-isr"],
)
def test_a_bug_takes_an_unexplained_step(spec: ReplicasWithChangedMinIsr, action: str) -> None:
    unexplained = ChangedMinIsrRefinement(spec).random_walks(30, length=40, seed=1).unexplained
    assert unexplained
    assert {one.transition.action for one in unexplained} == {action}


class AnswersInTheSameStep(ChangedMinIsrRefinement):
    """A wrong mapping: a leader that receives a response counts as a leader that learns the newest
    metadata.
    """

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        if step.action == "take_answer":
            return [Call("learn_isr", step.arguments)]
        return super().calls(step, abstract)


def test_a_response_is_not_the_newest_metadata() -> None:
    mapping = AnswersInTheSameStep(ReplicasWithChangedMinIsr(**{**QUIET, **LOWERED}))
    assert mapping.first_unexplained() is not None
