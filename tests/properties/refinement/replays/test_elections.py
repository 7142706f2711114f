"""The counterexample of a bug in `election` breaks its claim on a controller with this bug, too.

On a controller without the bug, the claim holds.
"""

from __future__ import annotations

import pytest

from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.replays.elections import ELECTION_REPLAYS, ControllerHarness, cells
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", ELECTION_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_controller_with_the_bug(
    replay: Replay[ControllerHarness],
) -> None:
    trace, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)
    # The cells read from the controller agree with the model, in the beginning and with the bug.
    assert cells(ControllerHarness.of(NO_BUGS)).items() <= trace[0].state.items()
    assert cells(broken).items() <= trace[-1].state.items()


def test_a_fenced_broker_that_sends_heartbeats_again_leads_again() -> None:
    harness = ControllerHarness.of(NO_BUGS)
    harness.end_session(1)
    harness.end_session(0)
    assert (harness.state.isr, harness.state.elr) == ((), (1,))
    harness.send_heartbeat(0)
    assert (harness.state.leader, harness.state.isr) == (1, (1,))
