"""Each step of `transactions kip-360-v1` is zero, one or more steps of `coordinator-abstract`."""

from __future__ import annotations

import pytest

from model.language import action, true, when
from model.transactions.aborts import AbortAndContinue
from model.transactions.state import EMPTY, QUIET, Instance
from model.variants import Constants
from properties.refinement.detailed_aborts import AbortRefinement, AbortsWithoutEmptyEnds

ONE: Constants = {**QUIET, "transactions": 1}
LATE: Constants = {**QUIET, "records_late": True}


@pytest.mark.parametrize(
    ("detailed", "pairs"),
    [
        (AbortsWithoutEmptyEnds(**LATE), 587),
        (AbortAndContinue(**{**ONE, "ids_expire": True}), 153),
        (AbortAndContinue(**{**ONE, "instances": 2}), 519),
    ],
)
def test_for_the_coordinator_a_client_that_continues_is_a_new_instance(
    detailed: AbortAndContinue, pairs: int
) -> None:
    walk = AbortRefinement(detailed).walk()
    assert (walk.pairs, walk.unexplained) == (pairs, [])
    assert walk.explained["init_producer"] > detailed.instances


class ContinuesUnderTheOldEpoch(AbortAndContinue):
    """A bug: the coordinator answers with the client's old epoch."""

    @action
    def raise_epoch(s, i: Instance) -> None:
        m = s.metadata
        when(m.state == EMPTY, ~s.has_continued[i], s.may_continue(i), s.has_newest_epoch(i))
        s.write(s.idle(EMPTY, m.producer_id, m.producer_epoch), answering=i)
        s.has_continued[i] = true


def test_a_response_with_the_old_epoch_is_unexplained() -> None:
    walk = AbortRefinement(ContinuesUnderTheOldEpoch(**ONE)).walk()
    assert {step.transition.action for step in walk.unexplained} == {"raise_epoch"}
