"""Each step of the spec `classic-group` is zero, one or more steps of `classic-group-abstract`.

Here `classic-group` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

import pytest

from model.classic_group.bugs import AcceptsAnyone, AddsInstances, ForgetsReplacement
from model.classic_group.versions import ClassicGroup
from properties.refinement.behaviour import Call
from properties.refinement.detailed_classic_group import Refinement
from properties.refinement.state_mapping import Step


def test_every_step_of_the_detailed_spec_is_explained() -> None:
    refinement = Refinement(ClassicGroup(generations=2))
    walk = refinement.walk()
    assert not walk.unexplained
    assert {*walk.explained} == {action.name for action in refinement.abstract.actions} | {"none"}
    assert (walk.states, walk.disagreements) == (19_811, 0)


@pytest.mark.parametrize(
    ("wrong", "at"), [(AddsInstances, "join"), (ForgetsReplacement, "replace")]
)
def test_bugs_take_unexplained_steps(wrong: type[ClassicGroup], at: str) -> None:
    walk = Refinement(wrong(generations=1)).walk()
    assert ({*walk.unexplained}, walk.disagreements) == ({at}, 0)


def test_a_bug_accepts_other_commits() -> None:
    assert Refinement(AcceptsAnyone(generations=1)).walk().disagreements


class ForgetsTheLog(Refinement):
    def calls(self, step: Step) -> list[Call]:
        return super().calls(step)[:1]


def test_a_wrong_mapping_is_noticed() -> None:
    assert {*ForgetsTheLog(ClassicGroup(generations=1)).walk().unexplained} == {"assign"}
