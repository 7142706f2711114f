"""Each step of `election log-directories` is zero, one or more steps of `reassignment-abstract`."""

from __future__ import annotations

from collections.abc import Mapping

from model.election.log_directory_bugs import KeepsLostReplica
from model.language.interpreter import State
from properties.refinement.behaviour import Call
from properties.refinement.detailed_log_directories import (
    LogDirectoryRefinement,
    ReplicasInDirectories,
)
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Transition

ONE_FAILURE: Mapping[str, int | bool] = {
    "replicas": 2,
    "assigned": 2,
    "max_reassignments": 0,
    "max_unclean": 1,
    "max_losses": 1,
}


def test_every_step_of_random_walks_is_explained() -> None:
    """The walks have a failed directory or a lossy crash, and a moved leader, an expired session or
    a shutdown.
    """
    refinement = LogDirectoryRefinement(ReplicasInDirectories(**ONE_FAILURE))
    walk = refinement.random_walks(20, length=60, seed=1)
    assert not walk.unexplained
    assert {"stop_uncleanly", "register", "lose", "elect_eligible", "expand_isr"} <= {
        *walk.explained
    }


class StaysUp(LogDirectoryRefinement):
    """A wrong mapping: a broker whose directory fails takes no abstract step."""

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [] if step.action == "fail_directory" else Refinement.calls(self, step, abstract)


def test_a_failed_directory_is_an_unclean_stop() -> None:
    unexplained = StaysUp(ReplicasInDirectories(**ONE_FAILURE)).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == "register"


class Keeps(KeepsLostReplica, ReplicasInDirectories):
    """A broker without the directory of its replica stays in the ELR."""


def test_a_broker_that_stays_in_the_elr_takes_an_unexplained_step() -> None:
    unexplained = LogDirectoryRefinement(
        Keeps(**ONE_FAILURE, max_disruptions=0)
    ).first_unexplained()
    assert unexplained is not None
    assert unexplained.transition.action == "register"
