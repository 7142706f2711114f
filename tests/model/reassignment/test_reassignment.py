"""Runs of the reassignment spec: which brokers are in the ELR, and when a reassignment completes.

The ELR is the set of eligible leader replicas. In Kafka 4.3 a removed replica stays in the ELR, and
can be elected after its log is deleted. The version `ElrOfReplicas` of the spec has a proposed
rule: only current replicas stay in the ELR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from model.language import Spec
from model.reassignment.versions import ElrOfReplicas, Kafka41, Kafka43

if TYPE_CHECKING:
    from tests.model.conftest import Play  # pytest gives the fixture; its class is named here

    Begin = Callable[[Spec], Play]

# b0 leads, and a record is on both before it is committed
COMMITTED = ("write 0", "fetch 1 0", "fetch 1 0", "advance_high_watermark 0")
MOVED = {"replicas": 3, "changes_factor": False}
MOVES = (  # b1 is fenced and in the ELR; b2 copies the log and joins the ISR
    *(*COMMITTED, "expire_session 1", "replace_replica 0 2", "apply_metadata 0"),
    *("apply_metadata 2", "fetch 2 0", "fetch 2 0", "grant_isr 0"),
)
RETURNS = ("delete_replica 0", "replace_replica 1 0", "shut_down 2")


def test_a_removed_replica_is_elected_without_its_log(play: Begin) -> None:
    run = play(Kafka43(**MOVED, max_disruptions=2)).do(*MOVES)
    assert run.members("partition_registration.elr") == {0, 1}
    run.do(*RETURNS)
    assert run["partition_registration.leader"] == 0
    assert "leader_completeness" in run.broken()


def test_only_replicas_stay_eligible_by_the_proposed_rule(play: Begin) -> None:
    run = play(ElrOfReplicas(**MOVED, max_disruptions=2)).do(*MOVES)
    assert run.members("partition_registration.elr") == {1}
    run.do(*RETURNS)
    assert (run["partition_registration.leader"], run.broken()) == (None, set())


def test_a_broker_in_the_elr_cannot_be_added_while_the_isr_is_empty(play: Begin) -> None:
    """A broker in the ELR cannot be added as a replica while the ISR is empty.

    Kafka's controller answers UNKNOWN_SERVER_ERROR. In the run the partition has one replica. When
    this replica is in the ISR again, the broker can be added, and the ELR is then empty.
    """
    run = play(Kafka43()).do("remove_replica 0", "expire_session 1")
    assert run.members("partition_registration.elr") == {0, 1}
    assert run.refused("add_replicas 0 0") == "~elects_added"
    run.do("unfence 1", "add_replicas 0 0")
    assert run.members("partition_registration.elr") == set()


# ---- when a reassignment completes


def test_kafka_4_3_completes_when_the_added_replica_is_in_the_isr(play: Begin) -> None:
    run = play(Kafka43(**MOVED)).do(*MOVES)
    assert run.members("assignment.replicas") == {1, 2}
    assert run.members("partition_registration.isr") == {2}
    assert run.members("partition_registration.elr") == {0, 1}


def test_kafka_4_1_waits_for_every_remaining_replica(play: Begin) -> None:
    run = play(Kafka41(**MOVED)).do(*MOVES)
    assert run.members("assignment.replicas") == {0, 1, 2}
    assert run.members("partition_registration.isr") == {0, 2}


def test_a_fenced_replica_stays_when_the_number_falls(play: Begin) -> None:
    """The removal of replica b0 waits while the only other replica, b1, is fenced.

    Meanwhile the removal can be cancelled.
    """
    run = play(ElrOfReplicas()).do("expire_session 1", "remove_replica 0")
    assert run.members("assignment.removing") == {0}
    run.do("cancel_reassignment")
    assert run.members("assignment.removing") == set()
    assert run.members("assignment.replicas") == {0, 1}


def test_a_removed_leader_begins_a_leader_epoch_without_it(play: Begin) -> None:
    run = play(ElrOfReplicas()).do("remove_replica 0")
    assert run["partition_registration.leader"] == 1
    assert run["partition_registration.leader_epoch"] == 1
    assert "replicas" in run.refused("apply_metadata 0")
    run.do("delete_replica 0", "apply_metadata 1")
    assert run.members("known_replicas 1") == {1}


def test_a_removed_follower_begins_a_leader_epoch_too(play: Begin) -> None:
    run = play(ElrOfReplicas()).do("remove_replica 1")
    assert run["partition_registration.leader"] == 0
    assert run["partition_registration.leader_epoch"] == 1


CANCELLED = (  # b1 joins the ISR and is fenced; b2 never joins
    *("add_replicas 1 2", "apply_metadata 0", "apply_metadata 1", "fetch 1 0", "grant_isr 0"),
    *("expire_session 1", "cancel_reassignment"),
)


@pytest.mark.parametrize(("version", "elr"), [(Kafka43, {1}), (ElrOfReplicas, set[int]())])
def test_a_cancelled_reassignment_leaves_the_same_member(
    version: type[ElrOfReplicas], elr: set[int], play: Begin
) -> None:
    run = play(version(replicas=3, assigned=1)).do(*CANCELLED)
    assert run.members("assignment.replicas") == {0}
    assert run.members("partition_registration.elr") == elr
