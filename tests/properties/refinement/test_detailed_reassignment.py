"""Each step of the spec `reassignment` is zero, one or more steps of `reassignment-abstract`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checkers.explicit.search import explore
from model.election.state import Replica
from model.election.versions import Election
from model.language import Bool, false, true
from model.language.interpreter import State
from model.reassignment.versions import ElrOfReplicas
from properties.refinement.behaviour import Call
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Transition

ONE_REPLICA: Mapping[str, int | bool] = {
    "replicas": 2,
    "assigned": 1,
    "min_isr": 1,
    "max_reassignments": 1,
    "max_disruptions": 0,
}


# one unclean stop, and no reassignment
UNCLEAN: Mapping[str, int | bool] = {
    "replicas": 3,
    "assigned": 2,
    "max_reassignments": 0,
    "max_disruptions": 0,
    "max_unclean": 1,
    "max_losses": 1,
}


@pytest.mark.parametrize(
    ("constants", "pairs", "taken"),
    [
        (ONE_REPLICA, 109, {"complete_reassignment", "delete_replica", "finish_adding"}),
        (UNCLEAN, 2_112, {"register", "lose", "elect_eligible", "refuse_member"}),
    ],
    ids=["reassignments", "an unclean stop"],
)
def test_every_step_is_explained(
    constants: Mapping[str, int | bool], pairs: int, taken: set[str]
) -> None:
    walk = Refinement(ElrOfReplicas(**constants)).walk()
    assert (walk.pairs, walk.unexplained) == (pairs, [])
    assert taken <= {*walk.explained}


# the spec `election` with one disruption and no crash: a reassignment of nothing
ELECTION: Mapping[str, int | bool] = {
    "replicas": 2,
    "assigned": 2,
    "max_reassignments": 0,
    "max_unclean": 0,
    "max_losses": 0,
}


def test_without_reassignments_the_spec_is_election() -> None:
    """Without reassignments, both specs have the same numbers of states and transitions. So the
    mapping of `reassignment` also counts as a mapping of `election`.
    """
    faults = {"max_unclean": 1, "max_losses": 1}
    found = [
        explore(spec) for spec in (Election(**faults), ElrOfReplicas(**{**ELECTION, **faults}))
    ]
    assert len({(one.distinct, one.generated, one.depth) for one in found}) == 1
    assert all(one.exhausted for one in found)


def test_every_step_of_an_election_is_explained() -> None:
    walk = Refinement(ElrOfReplicas(**ELECTION)).walk()
    assert (walk.pairs, walk.unexplained) == (1_358, [])
    assert {"elect", "elect_eligible", "expand_isr", "refuse_member"} <= {*walk.explained}


# too many pairs to explore, so random walks
CANCELLED: Mapping[str, int | bool] = {
    "replicas": 3,
    "assigned": 2,
    "min_isr": 1,
    "max_reassignments": 2,
    "max_disruptions": 1,
}


def test_every_step_of_random_walks_is_explained() -> None:
    """The walks cancel reassignments of both kinds: those that add a replica, and those that only
    remove one.
    """
    walk = Refinement(ElrOfReplicas(**CANCELLED)).random_walks(12, length=40, seed=1)
    assert not walk.unexplained
    assert {"remove_replica", "cancel_reassignment", "cancel_removal"} <= {*walk.explained}


class Forgetful(Refinement):
    """A wrong mapping: it leaves out every step of the abstract action `forgotten`."""

    forgotten = ""

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [c for c in super().calls(step, abstract) if c.action != self.forgotten]


class ForgetsToLearn(Forgetful):
    forgotten = "learn_isr"


class ForgetsToFinish(Forgetful):
    forgotten = "finish_adding"


class ForgetsToCancel(Forgetful):
    forgotten = "cancel_removal"


def test_a_wrong_mapping_is_noticed_by_random_walks() -> None:
    walk = ForgetsToCancel(ElrOfReplicas(**CANCELLED)).random_walks(12, length=40, seed=1)
    assert {one.transition.action for one in walk.unexplained} == {"cancel_reassignment"}


@pytest.mark.parametrize("mutant", [ForgetsToLearn, ForgetsToFinish])
def test_a_wrong_mapping_is_noticed(mutant: type[Refinement]) -> None:
    assert mutant(ElrOfReplicas(**ONE_REPLICA)).first_unexplained() is not None


class AdmitsUnclean(ElrOfReplicas):
    """A broker that stopped uncleanly stays in the ELR (KAFKA-18635)."""

    def is_unclean(s, r: Replica) -> Bool:
        return false


class CommitsAlone(ElrOfReplicas):
    """A leader commits below min.insync.replicas."""

    def may_commit(s, leader: Replica) -> Bool:
        return true


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [(AdmitsUnclean, "ELR"), (CommitsAlone, "commit")],
)
def test_a_wrong_rule_takes_an_unexplained_step(wrong: type[ElrOfReplicas], reason: str) -> None:
    unexplained = Refinement(wrong(**UNCLEAN)).first_unexplained()
    assert unexplained is not None
    assert reason in unexplained.reason
