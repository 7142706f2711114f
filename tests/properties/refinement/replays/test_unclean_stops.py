"""A counterexample is replayed on two clusters; its claim breaks only on the cluster with the bug.

In the counterexample, the controller does not notice that a broker stopped uncleanly.
"""

from __future__ import annotations

import pytest

from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.replays.replication import ReplicationHarness
from tests.properties.refinement.replays.unclean_stops import UNCLEAN_STOP_REPLAYS, cells, wait
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", UNCLEAN_STOP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_cluster_with_the_bug(
    replay: Replay[ReplicationHarness],
) -> None:
    trace, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert cells(broken).items() <= trace[-1].state.items()
    assert replay.holds(sound)
    # There is no leader until the broker with the record is reachable again.
    assert cells(sound)["partition_registration.leader", ()] is None
    sound.cluster.heal()
    wait(sound)
    assert cells(sound)["partition_registration.leader", ()] == 1
    assert replay.holds(sound)
