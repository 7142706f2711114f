"""What breaks a classic group of the model breaks the broker's: the same plan, the same claim."""

from __future__ import annotations

import pytest

from properties.refinement.replays.classic_groups import (
    CLASSIC_GROUP_REPLAYS,
    ClassicGroupReplay,
    Stage,
    cells,
)
from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.shortest import counterexample


@pytest.mark.parametrize("replay", CLASSIC_GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_group_with_the_bug_and_no_other(
    replay: ClassicGroupReplay,
) -> None:
    trace = counterexample("classic-group", replay.variant, replay.claim)
    plan = [(step.action, step.values) for step in trace]
    broken, sound = (replay.carried_out(plan, with_bug=bug) for bug in (True, False))
    assert not replay.holds(broken)
    assert replay.holds(sound)
    assert [sound.is_member(m) for m in (0, 1)] == [False, True]  # the new one, not none
    # And what the group knows is what the model has, in the beginning and with the bug.
    assert cells(Stage(bugs=NO_BUGS)).items() <= trace[0].state.items()
    assert cells(broken).items() <= trace[-1].state.items()
