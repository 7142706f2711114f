"""A counterexample of a bug in `transactions` breaks its claim on a cluster with this bug, too."""

from __future__ import annotations

from typing import Final

import pytest

from reference_impl.node.bugs import NO_BUGS
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.world import NoProgress
from tests.properties.refinement.replays.replay import Replay
from tests.properties.refinement.replays.transaction_harness import TransactionHarness
from tests.properties.refinement.replays.transactions import BY_THEMSELVES, TRANSACTION_REPLAYS
from tests.properties.refinement.shortest import actions_of, counterexample

ACCEPTED: Final = {  # the action whose last occurrence is accepted only with the bug
    "lax-markers": "write_marker",
    "v1": "append",
    "keeps-guard": "append_record",
    "verification": "end",
    "forgets-failed-fence": "fence",
    "unclean-election": "change_leader",
}
each_replay = pytest.mark.parametrize(
    "replay", TRANSACTION_REPLAYS, ids=lambda replay: replay.variant
)


@each_replay
def test_a_counterexample_breaks_only_the_broker_with_the_bug(
    replay: Replay[TransactionHarness],
) -> None:
    actions = actions_of(counterexample(replay))
    names = [name for name, _ in actions]
    until = len(names) - 1 - names[::-1].index(ACCEPTED[replay.variant])
    assert replay.holds_after(actions[:until], defective=True)
    assert not replay.holds_after(actions, defective=True)
    assert replay.holds_after(actions, defective=False)


@each_replay
def test_every_action_has_an_effect_or_happens_by_itself(
    replay: Replay[TransactionHarness],
) -> None:
    actions = {name for name, _ in actions_of(counterexample(replay))}
    assert replay.effects.keys() <= actions
    assert actions - replay.effects.keys() <= BY_THEMSELVES


def test_waiting_for_a_message_that_is_never_sent_is_an_error() -> None:
    harness = TransactionHarness.of(TransactionVersion.V2, NO_BUGS)
    harness.init_producer()
    harness.begin()
    harness.add_partition()
    harness.commit()
    harness.marker_received()
    with pytest.raises(NoProgress, match="5000 ms"):
        harness.late_marker_received()  # the only marker was not delayed
