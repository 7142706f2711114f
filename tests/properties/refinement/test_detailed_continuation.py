"""Each step of `transactions` with KIP-360 is zero, one or more steps of `coordinator-abstract`."""

from __future__ import annotations

import pytest

from model.language import action, true, when
from model.transactions.continuation import Continuation
from model.transactions.state import EMPTY, QUIET, Instance
from model.variants import Constants
from properties.refinement.detailed_continuation import ContinuationRefinement

ONE: Constants = {**QUIET, "transactions": 1}
FAILS: Constants = {**ONE, "coordinator_failures": 1}


def test_lost_and_repeated_responses_refine_the_abstract_spec() -> None:
    """Every abstract action except `expire` explains some step: nothing expires in this version."""
    refinement = ContinuationRefinement(Continuation(**FAILS))
    walk = refinement.walk()
    assert (walk.states, walk.disagreements, walk.unexplained) == (842, 0, {})
    actions = {action.name for action in refinement.abstract.actions}
    assert {*walk.explained} == (actions | {"none"}) - {"expire"}


@pytest.mark.parametrize(
    ("constants", "states"),
    [({**ONE, "ids_expire": True}, 135), ({**ONE, "instances": 2}, 447)],
)
def test_tombstones_and_two_instances_refine_the_abstract_spec(
    constants: Constants, states: int
) -> None:
    walk = ContinuationRefinement(Continuation(**constants)).walk()
    assert (walk.states, walk.disagreements, walk.unexplained) == (states, 0, {})


class RaisesAgain(Continuation):
    """A bug: the coordinator raises the epoch again when a client repeats its request."""

    @action
    def repeat_response(s, i: Instance) -> None:
        m = s.metadata
        when(s.is_continuing[i], ~s.is_busy(), s.has_last, ~s.is_exhausted(m.producer_epoch))
        s.write(s.idle(EMPTY, m.producer_id, m.producer_epoch + 1), answering=i)
        s.keep_last(true)


def test_a_response_with_a_wrong_epoch_is_unexplained() -> None:
    walk = ContinuationRefinement(RaisesAgain(**{**FAILS, "max_epoch": 3})).walk()
    assert "repeat_response" in walk.unexplained
