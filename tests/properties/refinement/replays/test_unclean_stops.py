"""What breaks elections of the model breaks a cluster: the same plan, the same claim."""

from __future__ import annotations

import pytest

from properties.refinement.replays.unclean_stops import (
    UNCLEAN_STOP_REPLAYS,
    UncleanStopReplay,
    cells,
    wait,
)
from tests.properties.refinement.shortest import counterexample


@pytest.mark.parametrize("replay", UNCLEAN_STOP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_cluster_with_the_bug_and_no_other(
    replay: UncleanStopReplay,
) -> None:
    trace = counterexample("election", replay.variant, replay.claim)
    plan = [step.action for step in trace]
    broken, sound = (replay.carried_out(plan, with_bug=bug) for bug in (True, False))
    assert not replay.holds(broken)
    assert cells(broken).items() <= trace[-1].state.items()
    assert replay.holds(sound)
    # Nobody leads until the broker is heard that has the record.
    assert cells(sound)["partition_registration.leader", ()] is None
    sound.cluster.heal()
    wait(sound)
    assert cells(sound)["partition_registration.leader", ()] == 1
    assert replay.holds(sound)
