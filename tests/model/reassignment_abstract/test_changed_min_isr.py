"""The claims are proved for a min.insync.replicas that changes. If a rule is left out, the proof
fails at the action with this rule.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.language.interpreter import Interpreter
from model.reassignment_abstract.changed_min_isr import ChangedMinIsr
from model.reassignment_abstract.min_isr_bugs import (
    AnswersWithoutMinIsr,
    ClearsElr,
    ClearsElrOfSmallIsr,
    KeepsElrAtElection,
    NeverClearsElr,
)
from tests.model.conftest import Begin, Play
from tests.model.proofs import assert_fails


def test_the_rules_about_min_isr_are_proved_without_bounds() -> None:
    """`make proofs` proves all claims: `urteil prove reassignment-abstract --variant
    changed-min-isr`.
    """
    proved = [
        "an_eligible_replica_remains",
        "enough_members_remain",
        "members_are_replicas",
        "the_lowest_minimum",
        "known_members_are_awaited",
    ]
    proof = prove(ChangedMinIsr(), only=proved)
    assert not proof.failed
    assert [one.split(" (")[0] for one in proof.assumptions] == [
        "a set with at least k elements of Replica stays so when elements join",
        "a set with at least k elements of Replica has at least j elements,"
        " if j <= k are of MinIsr",
    ]


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (ClearsElr, "change_min_isr", "enough_members_remain"),
        (ClearsElrOfSmallIsr, "change_min_isr", "enough_members_remain"),
        (NeverClearsElr, "change_min_isr", "a_large_isr_has_no_elr"),
        (KeepsElrAtElection, "elect_eligible", "a_large_isr_has_no_elr"),
        (
            AnswersWithoutMinIsr,
            "receive_response",
            "a_leader_that_commits_waits_for_every_member",
        ),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[ChangedMinIsr], action: str, claim: str
) -> None:
    spec = wrong(min_isr=3)
    assert_fails(spec, action, claim, spec.scope())


def begin_with(play: Begin, spec: ChangedMinIsr, minimum: int) -> Play:
    """Starts a run with this value of min.insync.replicas. Brokers b0 and b1 are replicas."""
    run = play(spec)
    run.state = next(
        state for state in Interpreter.of(spec).initial(spec) if state["lowest", ()] == minimum
    )
    return run


# b0 has committed x0; then the sessions of both replicas expire
OFFLINE = [
    "append 0 0",
    "copy 1 0",
    "acknowledge 1",
    "commit 0 0",
    "shrink_isr 1",
    "elect_nobody 1",
    "shrink_isr 0",
]


def test_the_finding_of_kafka_4_3_is_a_run(play: Begin) -> None:
    """The steps of docs/findings/cleared-elr.md leave no eligible replica. No broker has failed."""
    run = begin_with(play, ClearsElr(), 2).do(*OFFLINE)
    assert (run.members("isr 1"), run.members("elr 1")) == (set(), {0, 1})
    run.do("change_min_isr 1 1")
    assert "an_eligible_replica_remains" in run.broken()


def test_an_offline_partition_keeps_its_elr_until_a_leader_may_commit_alone(play: Begin) -> None:
    run = begin_with(play, ChangedMinIsr(leader_epochs=3), 2).do(*OFFLINE, "change_min_isr 1 1")
    assert run.members("elr 1") == {0, 1}
    run.do("elect_eligible 1 2")
    assert (run.members("isr 2"), run.members("elr 2")) == ({1}, set())
    assert run.broken() == set()


def test_a_small_isr_keeps_its_elr(play: Begin) -> None:
    """b0 is the only ISR member when min.insync.replicas is raised from 2 to 3. Then b0 fails."""
    raised = [*OFFLINE[:5], "change_min_isr 3 1", "stop_uncleanly 0 2"]
    wrong = ClearsElrOfSmallIsr(min_isr=3, disturbances=2)
    assert "an_eligible_replica_remains" in begin_with(play, wrong, 2).do(*raised).broken()
    right = ChangedMinIsr(min_isr=3, disturbances=2)
    assert begin_with(play, right, 2).do(*raised).broken() == set()


# a response with the ISR [b0] is in flight, by the raised value
RAISED = ["append 0 0", "change_min_isr 2 1", "shrink_isr 1", "respond", "receive_response 0"]


def test_a_leader_does_not_commit_by_a_smaller_value_than_the_controller(play: Begin) -> None:
    """docs/findings/raised-min-isr.md: b1 is in the ELR, and lacks x0."""
    wrong = begin_with(play, AnswersWithoutMinIsr(), 1).do(*RAISED, "commit 0 0")
    assert "eligible_replicas_have_committed_records" in wrong.broken()
    right = begin_with(play, ChangedMinIsr(), 1).do(*RAISED)
    assert (right.members("isr 0"), right.members("elr 0")) == ({0}, {1})
    assert right.refused("commit 0 0").startswith("known_minimum")


def test_a_leader_has_one_response_in_flight_and_uses_it_once(play: Begin) -> None:
    *before, received = RAISED
    run = begin_with(play, ChangedMinIsr(), 1).do(*before)
    assert "is_sent" in run.refused("respond")
    run.do(received)
    assert "is_sent" in run.refused(received)


def test_a_leader_that_knows_an_old_minimum_waits_for_a_refused_replica(play: Begin) -> None:
    """The leader knows the ISR [b0] from before b1 joined, and does not know the raised value."""
    run = begin_with(play, ChangedMinIsr(disturbances=2), 1).do(
        "shrink_isr 1", "learn_isr 0", "propose_member 1", "expand_isr 1"
    )
    run.do("change_min_isr 2 1", "shrink_isr 1")
    assert run.members("elr 0") == {1}
    assert "elr" in run.refused("refuse_member 1")
