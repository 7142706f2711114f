"""Every step of the spec `replication` is one or more steps of the proved abstract replication."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from model.language import Bool, true
from model.language.interpreter import State
from model.replication.bugs import CountsDivergingFetches
from model.replication.state import Replica
from model.replication.versions import FetchDivergence
from properties.refinement.behaviour import Call
from properties.refinement.detailed_replication import Refinement
from properties.refinement.history_mapping import Transition

SMALL: Mapping[str, int] = {"replicas": 2, "max_leader_epoch": 1, "log_size": 1, "max_records": 1}
THREE: Mapping[str, int] = {"replicas": 3, "max_leader_epoch": 2}


def test_every_step_of_two_replicas_is_explained() -> None:
    refinement = Refinement(FetchDivergence(**SMALL))
    walk = refinement.walk()
    assert (walk.pairs, walk.unexplained) == (855, [])
    actions = {action.name for action in refinement.abstract.actions}
    assert actions - {*walk.explained} == {"refuse"}  # the controller refuses no proposal here


def test_every_step_of_random_walks_of_three_replicas_is_explained() -> None:
    walk = Refinement(FetchDivergence(**THREE)).random_walks(40, length=30, seed=1)
    assert not walk.unexplained
    assert walk.explained["truncate"]


class Forgetful(Refinement):
    """A wrong mapping: it leaves out every step of the abstract action `forgotten`."""

    forgotten = ""

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [c for c in super().calls(step, abstract) if c.action != self.forgotten]


class ForgetsToFetch(Forgetful):
    forgotten = "fetch_request"


class ForgetsToJoin(Forgetful):
    forgotten = "expand_isr"


class ForgetsHighWatermark(Forgetful):
    forgotten = "follower_high_watermark"


@pytest.mark.parametrize("mutant", [ForgetsToFetch, ForgetsToJoin, ForgetsHighWatermark])
def test_a_wrong_mapping_is_noticed(mutant: type[Refinement]) -> None:
    assert mutant(FetchDivergence(**SMALL)).first_unexplained() is not None


class JoinsAtOnce(FetchDivergence):
    """A follower joins the ISR before the leader's high watermark has reached the start of the
    leader's epoch (KAFKA-7128).
    """

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        return true


class CommitsAlone(FetchDivergence):
    """A leader treats every follower as if it had fetched the record."""

    def acknowledges(s, follower: Replica, leader: Replica, offset: object) -> Bool:
        return true


@pytest.mark.parametrize(
    ("wrong", "reason"), [(JoinsAtOnce, "start_offset"), (CommitsAlone, "fetched")]
)
def test_a_wrong_rule_takes_an_unexplained_step(wrong: type[FetchDivergence], reason: str) -> None:
    unexplained = Refinement(wrong(**SMALL)).first_unexplained()
    assert unexplained is not None
    assert reason in unexplained.reason


def test_a_bug_takes_an_unexplained_step() -> None:
    """A diverging fetch counts for the high watermark (KAFKA-13141)."""
    spec = CountsDivergingFetches(**{**SMALL, "max_records": 2})
    unexplained = Refinement(spec).first_unexplained()
    assert unexplained is not None
    assert "fetch_request" in unexplained.reason
