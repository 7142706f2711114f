"""What breaks a group of the model breaks a group of the broker: the same plan, the same claim."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.consumer_group.versions import ConsumerGroup
from model.language.interpreter import Interpreter
from model.specs import find
from properties.refinement.replays.consumer_groups import (
    DEEDS,
    GROUP_REPLAYS,
    GroupReplay,
    Stage,
    cells,
)
from reference_impl.node.bugs import NO_BUGS, Bug


def counterexample(replay: GroupReplay) -> list[tuple[str, tuple[Any, ...]]]:
    """The actions of the shortest one, as exploration finds it, and for whom they are."""
    variant = find("consumer-group", replay.variant)
    assert variant.breaks == replay.claim
    spec = variant.make(variant.at)
    in_the_end = {claim.name for claim in spec.liveness_properties}
    is_safety = replay.claim not in in_the_end
    found = explore(spec).discoveries if is_safety else decide(spec, [replay.claim])
    return [(step.action, step.values) for step in found[replay.claim].trace]


@pytest.mark.parametrize("replay", GROUP_REPLAYS, ids=lambda replay: replay.variant)
def test_a_counterexample_breaks_the_group_with_the_bug_and_no_other(replay: GroupReplay) -> None:
    actions = counterexample(replay)
    assert not replay.replayed(actions, with_bug=True)
    assert replay.replayed(actions, with_bug=False)


def test_before_anybody_joins_the_group_is_in_the_first_state_of_the_spec() -> None:
    spec = ConsumerGroup()
    assert Interpreter.of(spec).initial(spec) == [cells(Stage(bugs=NO_BUGS))]


def test_a_member_that_is_refused_begins_anew_for_as_long_as_it_is() -> None:
    for bugs, epoch in ((NO_BUGS, 1), (frozenset({Bug.REJOIN_REFUSED}), 0)):
        stage = Stage(bugs=bugs)
        stage.beat(0)  # nobody hears that it has joined
        stage.begin_anew(0)
        stage.go_on()
        stage.go_on()
        assert stage.consumers[0].epoch == epoch


def test_a_plan_that_cannot_be_carried_out_is_no_replay() -> None:
    with pytest.raises(ValueError, match="m0 has no assignment to hear of"):
        DEEDS["hear"](Stage(bugs=NO_BUGS), 0)
