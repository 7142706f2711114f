"""Each step of the spec `consumer-group` is a step of `consumer-group-abstract`, or none.

Here `consumer-group` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

import pytest

from model.consumer_group.bugs import (
    CommitsInAnyEpoch,
    ErasesWhatComesBack,
    ForgetsWhoRejoins,
    FreesAtOnce,
    RefusesReturn,
    WantsExactEpoch,
)
from model.consumer_group.versions import ConsumerGroup
from properties.refinement.behaviour import Call
from properties.refinement.detailed_consumer_group import Refinement
from properties.refinement.state_mapping import Step


def test_every_step_of_the_detailed_spec_is_explained() -> None:
    refinement = Refinement(ConsumerGroup(epochs=3))
    walk = refinement.walk()
    assert not walk.unexplained
    assert {*walk.explained} == {action.name for action in refinement.abstract.actions} | {"none"}
    assert (walk.states, walk.disagreements) == (10_861, 0)


def test_every_step_with_two_partitions_is_explained() -> None:
    walk = Refinement(ConsumerGroup(partitions=2, epochs=2)).walk()
    assert not walk.unexplained
    assert (walk.states, walk.disagreements) == (1_143, 0)


@pytest.mark.parametrize(
    ("wrong", "epochs", "at"),
    [
        (ErasesWhatComesBack, 3, "heartbeat"),
        (FreesAtOnce, 2, "heartbeat"),
        (ForgetsWhoRejoins, 2, "join"),
    ],
)
def test_bugs_take_unexplained_steps(wrong: type[ConsumerGroup], epochs: int, at: str) -> None:
    walk = Refinement(wrong(epochs=epochs)).walk()
    assert ({*walk.unexplained}, walk.disagreements) == ({at}, 0)


@pytest.mark.parametrize("wrong", [RefusesReturn, WantsExactEpoch, CommitsInAnyEpoch])
def test_bugs_accept_other_requests(wrong: type[ConsumerGroup]) -> None:
    assert Refinement(wrong(epochs=2)).walk().disagreements


class ForgetsTargets(Refinement):
    def calls(self, step: Step) -> list[Call]:
        return [] if step.action == "compute_target" else super().calls(step)


def test_a_wrong_mapping_is_noticed() -> None:
    assert {*ForgetsTargets(ConsumerGroup(epochs=2)).walk().unexplained} == {"compute_target"}
