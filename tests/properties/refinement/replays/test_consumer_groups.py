"""A counterexample of a bug in `consumer-group` breaks its claim on a broker with this bug, too.

On a broker without the bug, the same actions do not break the claim.
"""

from __future__ import annotations

import pytest

from model.consumer_group.versions import ConsumerGroup
from model.language.interpreter import Interpreter
from reference_impl.node.bugs import NO_BUGS, Bug
from tests.properties.refinement.replays.consumer_groups import (
    EFFECTS,
    GROUP_REPLAYS,
    ConsumerGroupHarness,
    cells,
)
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.shortest import replayed


@pytest.mark.parametrize("replay", GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_group_with_the_bug(
    replay: Replay[ConsumerGroupHarness],
) -> None:
    _, broken, sound = replayed(replay)
    assert not replay.holds(broken)
    assert replay.holds(sound)


def test_a_group_without_members_is_in_the_initial_state_of_the_spec() -> None:
    spec = ConsumerGroup()
    assert Interpreter.of(spec).initial(spec) == [cells(ConsumerGroupHarness(bugs=NO_BUGS))]


def test_a_refused_member_rejoins_until_the_coordinator_accepts_it() -> None:
    for bugs, epoch in ((NO_BUGS, 2), (frozenset({Bug.REJOIN_REFUSED}), 0)):
        harness = ConsumerGroupHarness(bugs=bugs)
        harness.send_heartbeat(0)  # the response to its join is lost
        harness.rejoin(0)
        harness.run_round()
        harness.run_round()
        assert harness.consumers[0].epoch == epoch


def test_an_action_that_cannot_happen_on_the_harness_is_an_error() -> None:
    with pytest.raises(ValueError, match="m0 has no response with an assignment"):
        EFFECTS["receive_response"](ConsumerGroupHarness(bugs=NO_BUGS), 0)
