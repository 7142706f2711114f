"""The claims about reassignments with the ELR are proved. If a rule is left out, the proof fails at
the action with this rule.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.reassignment_abstract.bugs import (
    AdmitsUnclean,
    CommitsBelowMinIsr,
    CountsKnownIsr,
    EligibleForEver,
    FallsBackOnAnyRefusal,
    IgnoresBrokerEpochs,
    JoinsBeforeEpoch,
    JoinsBelowHighWatermark,
    MinIsrOfPartition0,
)
from model.reassignment_abstract.versions import ElrOfReplicas, Kafka41, Kafka43, PartitionProof
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


def test_the_registration_is_proved_without_bounds() -> None:
    """This test proves some of the claims. `urteil verify` proves all of them."""
    proved = [
        "an_eligible_replica_remains",
        "enough_members_remain",
        "members_are_replicas",
        "stopped_brokers_are_unclean",
    ]
    proof = prove(PartitionProof(), only=proved)
    assert not proof.failed
    assert [one.split(" (")[0] for one in proof.assumptions] == [
        "a set with at least 2 elements of Replica stays so when elements join"
    ]


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (ElrOfReplicas, "complete_reassignment", "enough_members_remain"),
        (ElrOfReplicas, "cancel_reassignment", "enough_members_remain"),
        (Kafka43, "complete_reassignment", "members_are_replicas"),
        (Kafka43, "cancel_reassignment", "members_are_replicas"),
        (Kafka41, "cancel_reassignment", "members_are_replicas"),
        (CommitsBelowMinIsr, "commit", "members_acknowledged_what_is_committed"),
        (CountsKnownIsr, "commit", "members_acknowledged_what_is_committed"),
        (
            FallsBackOnAnyRefusal,
            "refuse_member",
            "a_leader_that_commits_waits_for_every_member",
        ),
        (JoinsBelowHighWatermark, "propose_member", "proposed_replicas_have_caught_up"),
        (JoinsBeforeEpoch, "propose_member", "proposed_replicas_have_caught_up"),
        (EligibleForEver, "expand_isr", "a_large_isr_has_no_elr"),
        (MinIsrOfPartition0, "shrink_isr", "enough_members_remain"),
        (AdmitsUnclean, "register", "starting_brokers_are_no_members"),
        (IgnoresBrokerEpochs, "propose_member", "starting_brokers_are_no_members"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[PartitionProof], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


# b0 and b1 are replicas, b0 has committed x0, and b1 is in the ELR
WITH_ELR = ["append 0 0", "copy 1 0", "acknowledge 1", "commit 0 0", "shrink_isr 1"]
# b2 takes the place of b0
MOVED = [
    "replace_replica 0 2 1",
    "learn_isr 0",
    "copy 2 0",
    "propose_member 2",
    "complete_reassignment 2 2 1",
]


def test_the_finding_of_kafka_4_3_is_a_run(play: Begin) -> None:
    """The run has the steps of docs/findings/stale-elr-member.md, where the brokers b0, b1 and b2
    are called 1, 2 and 3.
    """
    run = play(Kafka43(disturbances=2)).do(*WITH_ELR, *MOVED)
    assert (run.members("isr 1"), run.members("elr 1")) == ({2}, {0, 1})
    run.do("delete_replica 0", "replace_replica 1 0 2")
    assert "eligible_replicas_have_committed_records" in run.broken()


def test_with_both_rules_the_reassignment_waits_for_the_min_isr(play: Begin) -> None:
    run = play(PartitionProof(disturbances=2)).do(*WITH_ELR, *MOVED[:-1])
    assert run.refused(MOVED[-1])
    run.do("expand_isr 2", "learn_isr 0", "propose_member 1", "expand_isr 1", MOVED[-1])
    assert (run.members("isr 1"), run.members("elr 1")) == ({1, 2}, set())
    assert run.broken() == set()


def test_with_the_first_rule_a_removed_replica_leaves_the_elr(play: Begin) -> None:
    run = play(ElrOfReplicas(disturbances=2)).do(*WITH_ELR, *MOVED)
    assert (run.members("isr 1"), run.members("elr 1")) == ({2}, {1})
    run.do("delete_replica 0", "replace_replica 1 0 2")
    assert run.broken() == set()


def test_until_kafka_4_2_a_reassignment_waits_for_every_remaining_replica(play: Begin) -> None:
    """The replicas are b0 and b1, and b2 takes the place of b0. The reassignment waits until b1 and
    b2 are in the ISR.
    """
    run = play(Kafka41(disturbances=2)).do(*WITH_ELR, *MOVED[:-1])
    assert "replicas" in run.refused(MOVED[-1]), "b1 is not in the ISR"
    run.do("expand_isr 2", "learn_isr 0", "propose_member 1", "expand_isr 1", MOVED[-1])
    assert (run.members("isr 1"), run.members("elr 1")) == ({1, 2}, set())


def test_a_cancelled_reassignment_may_leave_one_copy(play: Begin) -> None:
    """The record is committed by b0 and b2, while b1 is not in the ISR. The cancellation removes
    b2, so b0 alone has the record.
    """
    run = play(ElrOfReplicas(disturbances=2)).do(
        "add_replica 2 1", "propose_member 2", "expand_isr 2", "shrink_isr 1", "learn_isr 0"
    )
    run.do("append 0 0", "copy 2 0", "acknowledge 2", "commit 0 0", "cancel_reassignment 0 1")
    run.do("stop_uncleanly 0 2")
    assert "an_eligible_replica_remains" in run.broken()
