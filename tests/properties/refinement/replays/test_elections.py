"""What breaks the controller of the model breaks the broker's: the same plan, the same claim."""

from __future__ import annotations

import pytest

from properties.refinement.replays.elections import ELECTION_REPLAYS, ElectionReplay, Stage, cells
from reference_impl.node.bugs import NO_BUGS
from tests.properties.refinement.shortest import counterexample


@pytest.mark.parametrize("replay", ELECTION_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_controller_with_the_bug_and_no_other(
    replay: ElectionReplay,
) -> None:
    trace = counterexample("election", replay.variant, replay.claim)
    plan = [(step.action, step.values) for step in trace]
    broken = replay.carried_out(plan, with_bug=True)
    assert not replay.holds(broken)
    assert replay.holds(replay.carried_out(plan, with_bug=False))
    # And what the controller knows is what the model has, in the beginning and with the bug.
    assert cells(Stage.of(NO_BUGS)).items() <= trace[0].state.items()
    assert cells(broken).items() <= trace[-1].state.items()


def test_who_is_heard_again_leads_again() -> None:
    stage = Stage.of(NO_BUGS)
    stage.end_session(1)
    stage.end_session(0)
    assert (stage.state.isr, stage.state.elr) == ((), (1,))
    stage.beat(0)
    assert (stage.state.leader, stage.state.isr) == (1, (1,))
