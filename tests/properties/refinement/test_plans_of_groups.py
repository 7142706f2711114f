"""What breaks a group of the model breaks a group of the broker: the same plan, the same claim."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.explicit.search import explore
from model.group_ownership.spec import GroupOwnership
from model.language.meaning import Meaning
from model.specs import find
from properties.refinement.plans_of_groups import DEEDS, GROUP_REPLAYS, GroupReplay, Stage, cells
from reference_impl.bugs import NO_BUGS


def counterexample(replay: GroupReplay) -> list[tuple[str, tuple[Any, ...]]]:
    """The actions of the shortest one, as exploration finds it, and for whom they are."""
    variant = find("group-ownership", replay.variant)
    assert variant.breaks == replay.claim
    found = explore(variant.make(variant.see))
    return [(step.action, step.values) for step in found.discoveries[replay.claim].trace]


@pytest.mark.parametrize("replay", GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_group_with_the_bug_and_no_other(replay: GroupReplay) -> None:
    actions = counterexample(replay)
    assert not replay.replayed(actions, with_bug=True)
    assert replay.replayed(actions, with_bug=False)


def test_before_anybody_joins_the_group_is_in_the_first_state_of_the_spec() -> None:
    spec = GroupOwnership()
    assert Meaning.of(spec).initial(spec) == [cells(Stage(bugs=NO_BUGS))]


def test_a_plan_that_cannot_be_carried_out_is_no_replay() -> None:
    with pytest.raises(ValueError, match="m0 has nothing to hear"):
        DEEDS["hear"](Stage(bugs=NO_BUGS), 0)
