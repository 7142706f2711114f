"""What breaks a classic group of the model breaks the broker's: the same plan, the same claim."""

from __future__ import annotations

import pytest

from checkers.explicit.exploration import Trace
from checkers.explicit.search import explore
from model.specs import find
from properties.refinement.plans_of_classic_groups import (
    CLASSIC_GROUP_REPLAYS,
    ClassicGroupReplay,
    Stage,
    cells,
)
from reference_impl.bugs import NO_BUGS


def counterexample(replay: ClassicGroupReplay) -> Trace:
    """The shortest one, as exploration finds it."""
    variant = find("group-generations", replay.variant)
    assert variant.breaks == replay.claim
    found = explore(variant.make(variant.see), properties=[replay.claim])
    return found.discoveries[replay.claim].trace


@pytest.mark.parametrize("replay", CLASSIC_GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_group_with_the_bug_and_no_other(
    replay: ClassicGroupReplay,
) -> None:
    trace = counterexample(replay)
    plan = [(step.action, step.values) for step in trace]
    broken, sound = (replay.carried_out(plan, with_bug=bug) for bug in (True, False))
    assert not replay.holds(broken)
    assert replay.holds(sound)
    assert [sound.is_member(m) for m in (0, 1)] == [False, True]  # the new one, not none
    # And what the group knows is what the model has, in the beginning and with the bug.
    assert cells(Stage(bugs=NO_BUGS)).items() <= trace[0].state.items()
    assert cells(broken).items() <= trace[-1].state.items()
