"""A counterexample of a bug in `replication` breaks its claim on a cluster with this bug, too."""

from __future__ import annotations

import pytest

from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.replays.replication import REPLAYS, ReplicationHarness
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_broker_with_the_bug(
    replay: Replay[ReplicationHarness],
) -> None:
    _, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)


def test_an_action_without_an_effect_is_an_error() -> None:
    with pytest.raises(KeyError, match="no_such_action"):
        REPLAYS[0].run([("no_such_action", ())], defective=False)
