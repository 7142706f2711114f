"""A counterexample of a bug in `classic-group` breaks its claim on a broker with this bug, too."""

from __future__ import annotations

import pytest

from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.replays.classic_groups import (
    CLASSIC_GROUP_REPLAYS,
    ClassicGroupHarness,
    cells,
)
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", CLASSIC_GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_group_with_the_bug(
    replay: Replay[ClassicGroupHarness],
) -> None:
    trace, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)
    assert [sound.is_member(m) for m in (0, 1)] == [False, True]  # the new member stays
    # The cells read from the group agree with the model, in the beginning and with the bug.
    assert cells(ClassicGroupHarness(bugs=NO_BUGS)).items() <= trace[0].state.items()
    assert cells(broken).items() <= trace[-1].state.items()
