"""What breaks the offsets of the model breaks the broker's: the same plan, the same claim."""

from __future__ import annotations

import pytest

from properties.refinement.replays.offsets import OFFSET_REPLAYS, OffsetReplay, Stage, cells
from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.shortest import counterexample


@pytest.mark.parametrize("replay", OFFSET_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_coordinator_with_the_bug_and_no_other(
    replay: OffsetReplay,
) -> None:
    trace = counterexample("group-offsets", replay.variant, replay.claim)
    plan = [(step.action, step.values) for step in trace]
    before, after = replay.carried_out(plan, with_bug=True)
    assert not replay.holds(before, after)
    assert replay.holds(*replay.carried_out(plan, with_bug=False))
    # And what the coordinator knows is what the model has, in the beginning and with the bug.
    states = (Stage(bugs=NO_BUGS), trace[0]), (before, trace[-2]), (after, trace[-1])
    assert all(cells(stage).items() <= step.state.items() for stage, step in states)


def test_offsets_of_a_group_that_nobody_joined_may_expire() -> None:
    (replay,) = OFFSET_REPLAYS
    plan = [("reset_offset", (0,)), ("expire_offset", ())]
    before, after = replay.carried_out(plan, with_bug=False)
    committed = [cells(stage)["cache.committed.offset", ()] for stage in (before, after)]
    assert committed == [0, None]
    assert replay.holds(before, after)
