"""Each step of `consumer-group static-members` is some steps of the abstract version, or none."""

from __future__ import annotations

from model.consumer_group.static_bugs import FreesWhileAway
from model.consumer_group.versions import StaticMembers
from properties.refinement.detailed_static_members import StaticMembersRefinement


def test_every_step_with_static_members_is_explained() -> None:
    refinement = StaticMembersRefinement(StaticMembers(epochs=2))
    walk = refinement.walk()
    assert not walk.unexplained
    assert {*walk.explained} == {action.name for action in refinement.abstract.actions} | {"none"}
    assert (walk.states, walk.disagreements) == (2_964, 0)


def test_a_step_that_frees_partitions_of_a_member_that_is_away_is_not_explained() -> None:
    walk = StaticMembersRefinement(FreesWhileAway(epochs=2)).walk()
    assert ({*walk.unexplained}, walk.disagreements) == ({"leave_for_now"}, 0)
