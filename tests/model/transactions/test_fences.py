"""In Kafka 4.3, a fenced producer may receive the epoch with which the coordinator fenced it.

In the version `strict-fence`, the coordinator refuses the EndTxn of a fenced producer. So the
producer never receives this epoch.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.transactions.client_bugs import FenceLooksLikeAnEnd
from model.transactions.fences import TWO_INSTANCES, StrictFence
from model.variants import Constants

FENCED = ("init_producer_id", "write_marker", "complete")


def test_the_fenced_instance_gets_the_epoch_of_the_fence_if_it_aborts() -> None:
    found = explore(FenceLooksLikeAnEnd(**TWO_INSTANCES))
    assert found.violated == ("the_fenced_get_no_epoch",)
    steps = [step.action for step in found.discoveries["the_fenced_get_no_epoch"].trace]
    assert tuple(steps[-4:]) == (*FENCED, "receive_end")


@pytest.mark.parametrize(
    ("more", "states"),
    [
        ({"transactions": 2}, 2_098),
        ({"coordinator_failures": 1}, 1_377),
        ({"ends_late": True}, 162),
    ],
)
def test_a_strict_fence_leaves_no_way_back(more: Constants, states: int) -> None:
    found = explore(StrictFence(**{**TWO_INSTANCES, **more}))
    assert (found.violated, found.exhausted) == ((), True)
    assert found.distinct == states
    assert found.taken["init_producer_id"]
    assert found.taken["refuse_call"]
