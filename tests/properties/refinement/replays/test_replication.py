"""A counterexample of a replication spec breaks the same claim on a cluster with the same bug."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.specs import find
from properties.refinement.replays.replay import Action, Replay
from properties.refinement.replays.replication import REPLAYS, ReplicationHarness


def counterexample(replay: Replay[ReplicationHarness]) -> list[Action]:
    variant = find(replay.spec, replay.variant)
    assert variant.breaks is not None
    found = explore(variant.make(variant.at))
    return [(step.action, step.values) for step in found.discoveries[variant.breaks].trace]


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_only_the_broker_with_the_bug(
    replay: Replay[ReplicationHarness],
) -> None:
    actions = counterexample(replay)
    assert not replay.holds_after(actions, defective=True)
    assert replay.holds_after(actions, defective=False)


def test_an_action_without_an_effect_is_an_error() -> None:
    with pytest.raises(KeyError, match="no_such_action"):
        REPLAYS[0].run([("no_such_action", ())], defective=False)
