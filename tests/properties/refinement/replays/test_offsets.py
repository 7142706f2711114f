"""A counterexample of a bug in the spec `group-offsets` is replayed on the broker with this bug. It
breaks the same claim there.
"""

from __future__ import annotations

import pytest

from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.replays.offsets import OFFSET_REPLAYS, OffsetHarness, cells
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", OFFSET_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_coordinator_with_the_bug(
    replay: Replay[OffsetHarness],
) -> None:
    trace, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)
    # The cells read from the coordinator agree with the model, in the beginning and with the bug.
    assert broken.before is not None
    first = OffsetHarness(bugs=NO_BUGS)
    states = (first, trace[0]), (broken.before, trace[-2]), (broken, trace[-1])
    assert all(cells(harness).items() <= step.state.items() for harness, step in states)


def test_offsets_of_a_group_without_members_may_expire() -> None:
    (replay,) = OFFSET_REPLAYS
    harness = replay.run([("reset_offset", (0, 0)), ("expire_offset", (0,))], defective=False)
    assert harness.before is not None
    committed = [cells(it)["cache.committed.offset", (0,)] for it in (harness.before, harness)]
    assert committed == [0, None]
    assert replay.holds(harness)
