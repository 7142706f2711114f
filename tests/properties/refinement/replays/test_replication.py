"""What breaks a spec with a bug breaks the broker with that bug: the same plan, the same claim."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.specs import find
from properties.refinement.replays.replication import REPLAYS, Replay


def counterexample(replay: Replay) -> list[str]:
    """The actions of the shortest one, as exploration finds it."""
    variant = find(replay.spec, replay.variant)
    assert variant.breaks is not None
    found = explore(variant.make(variant.at))
    return [step.action for step in found.discoveries[variant.breaks].trace]


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_broker_with_the_bug_and_no_other(replay: Replay) -> None:
    actions = counterexample(replay)
    assert not replay.replayed(actions, with_bug=True)
    assert replay.replayed(actions, with_bug=False)
