"""What breaks transactions as they were breaks the broker with that bug, by the same plan."""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from checkers.explicit.search import explore
from model.specs import find
from properties.refinement.replays.transaction_harness import Stage
from properties.refinement.replays.transactions import REPLAYS_OF_TRANSACTIONS, TransactionReplay
from reference_impl.node.bugs import NO_BUGS
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.world import NoProgress

LET_IN: Final = {  # the action whose last time the bug lets in
    "lax-markers": "write_marker",
    "v1": "append",
    "keeps-guard": "append_record",
    "verification": "end",
    "forgets-failed-fence": "fence",
    "unclean-election": "change_leader",
}
BY_THEMSELVES: Final = {"init", "send", "verify", "hear_end", "commit_append", "fail_append"}
each_replay = pytest.mark.parametrize(
    "replay", REPLAYS_OF_TRANSACTIONS, ids=lambda replay: replay.variant
)


@cache
def counterexample(spec: str, name: str) -> list[str]:
    """The actions of the shortest one, as exploration finds it."""
    variant = find(spec, name)
    assert variant.breaks is not None
    found = explore(variant.make(variant.at), properties=[variant.breaks])
    return [step.action for step in found.discoveries[variant.breaks].trace]


@each_replay
def test_a_counterexample_breaks_the_broker_with_the_bug_and_no_other(
    replay: TransactionReplay,
) -> None:
    actions = counterexample(replay.spec, replay.variant)
    until = len(actions) - 1 - actions[::-1].index(LET_IN[replay.variant])
    assert replay.replayed(actions[:until], with_bug=True)
    assert not replay.replayed(actions, with_bug=True)
    assert replay.replayed(actions, with_bug=False)


@each_replay
def test_every_action_is_done_or_comes_by_itself(replay: TransactionReplay) -> None:
    assert find(replay.spec, replay.variant).breaks == replay.claim
    actions = {*counterexample(replay.spec, replay.variant)}
    assert replay.deeds.keys() <= actions
    assert actions - replay.deeds.keys() <= BY_THEMSELVES


def test_what_does_not_come_is_no_plan() -> None:
    stage = Stage.of(TransactionVersion.V2, NO_BUGS)
    for deed in (Stage.init_producer, Stage.begin, Stage.add_partition, Stage.commit, Stage.marked):
        deed(stage)
    with pytest.raises(NoProgress, match="5000 ms"):
        stage.marked_again()  # nothing was held, and the marker was heard of
