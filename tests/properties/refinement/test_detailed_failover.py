"""Each step of `election controller-failover` is zero, one or more steps of
`reassignment-abstract`.
"""

from __future__ import annotations

from collections.abc import Mapping

from model.election.failover_bugs import PublishesUncommitted
from model.language.interpreter import State
from properties.refinement.behaviour import Call
from properties.refinement.detailed_failover import FailoverRefinement, ReplicasWithFailover
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Transition

NO_REASSIGNMENT: Mapping[str, int | bool] = {
    "replicas": 2,
    "assigned": 2,
    "max_reassignments": 0,
}
UNCLEAN: Mapping[str, int | bool] = {**NO_REASSIGNMENT, "max_unclean": 1, "max_losses": 1}


def test_every_step_of_random_walks_is_explained() -> None:
    """The walks have a moved leader, an expired session or a shutdown, and a lossy crash."""
    walk = FailoverRefinement(ReplicasWithFailover(**UNCLEAN)).random_walks(20, length=60, seed=1)
    assert not walk.unexplained
    assert {"elect", "elect_eligible", "elect_nobody", "expand_isr", "lose"} <= {*walk.explained}


class DecidedAtOnce(FailoverRefinement):
    """A wrong mapping: a change that the controller has appended counts as committed, as if no
    failover could drop it.
    """

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return Refinement.calls(self, step, abstract)


def test_a_change_is_no_abstract_step_before_it_is_committed() -> None:
    assert DecidedAtOnce(ReplicasWithFailover(**UNCLEAN)).first_unexplained() is not None


class Publishes(PublishesUncommitted, ReplicasWithFailover):
    """Brokers learn changes that are not committed."""


def test_a_broker_that_learns_a_change_too_early_takes_an_unexplained_step() -> None:
    unexplained = FailoverRefinement(Publishes(**NO_REASSIGNMENT)).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == "apply_metadata"
