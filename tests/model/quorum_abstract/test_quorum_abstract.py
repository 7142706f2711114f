"""The proof of the abstract quorum, and runs in which a missing rule loses a committed record."""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from model.language import Bool, true
from model.quorum_abstract.bugs import KeepsVotes, VotesForShorterLog, VotesTwice
from model.quorum_abstract.state import Epoch, Offset
from model.quorum_abstract.versions import Kafka43, QuorumProof
from tests.model.conftest import Begin
from tests.model.proofs import assert_fails


class CommitsFormerEpochs(QuorumProof):
    """A leader commits records of former epochs, although it has not appended a record in its own
    epoch (Raft, figure 8).
    """

    def may_commit(s, own: Epoch, mark: Offset) -> Bool:
        return true


def elected(leader: int, epoch: int, voter: int, latest: tuple[int, int] = (0, 0)) -> list[str]:
    """Returns the steps of an election; `latest` has the last offsets of voter and leader."""
    return [
        f"become_candidate {leader} {epoch}",
        f"learn_epoch {voter} {epoch}",
        f"grant_vote {voter} {leader} {latest[0]} {latest[1]}",
        f"become_leader {leader}",
    ]


FIGURE_8 = [  # c0 appends in epoch 1, c1 in epoch 2, and c0 replicates its old record in epoch 3
    *elected(0, 1, 2),
    "append 0 1",
    *elected(1, 2, 2),
    "append 1 1",
    *elected(0, 3, 2),
    "fetch 2 0 1",
    "acknowledge 2 0",
    "flush 0",
]


def test_the_record_of_a_former_epoch_is_not_committed_alone(play: Begin) -> None:
    run = play(QuorumProof(epochs=5)).do(*FIGURE_8)
    assert "led.start_offset" in run.refused("advance_high_watermark 0 1")
    wrong = play(CommitsFormerEpochs(epochs=5)).do(*FIGURE_8, "advance_high_watermark 0 1")
    assert wrong.broken() == set()
    wrong.do(*elected(1, 4, 2))
    assert wrong.broken() == {"leaders_have_committed_records"}


def test_a_candidate_without_the_record_gets_no_vote(play: Begin) -> None:
    run = play(QuorumProof()).do(*elected(0, 1, 1), "append 0 1", "fetch 1 0 1")
    run.do("become_candidate 2 2", "learn_epoch 1 2")
    assert "entry" in run.refused("grant_vote 1 2 0 0")


def test_only_kafka_counts_the_records_of_a_leader_that_has_not_flushed_them(play: Begin) -> None:
    copied = [*elected(0, 1, 1), "append 0 1", "fetch 1 0 1"]
    proposed, kafka = play(QuorumProof()).do(*copied), play(Kafka43()).do(*copied)
    for run in (proposed, kafka):
        assert run.refused("advance_high_watermark 0 1"), "no follower has acknowledged the record"
        run.do("acknowledge 1 0")
    assert proposed.refused("advance_high_watermark 0 1")
    proposed.do("flush 0", "advance_high_watermark 0 1")
    kafka.do("advance_high_watermark 0 1")


@pytest.mark.parametrize(
    ("wrong", "action", "claim"),
    [
        (VotesTwice, "grant_vote", "a_replica_votes_once"),
        (VotesForShorterLog, "grant_vote", "a_candidate_has_what_its_voters_acknowledged"),
        (KeepsVotes, "restart", "a_candidate_has_what_its_voters_acknowledged"),
        (Kafka43, "advance_high_watermark", "a_majority_has_what_is_committed"),
        (CommitsFormerEpochs, "advance_high_watermark", "a_majority_has_what_is_committed"),
    ],
)
def test_a_missing_rule_fails_the_proof_at_its_action(
    wrong: type[QuorumProof], action: str, claim: str
) -> None:
    assert_fails(wrong(), action, claim, wrong().scope())


def test_one_leader_an_epoch_is_proved_from_two_lemmas() -> None:
    """The whole proof takes a quarter of a minute: `urteil prove quorum-abstract`."""
    proved = ["one_leader_per_epoch", "a_replica_votes_once", "leaders_have_a_majority"]
    proof = prove(QuorumProof(), only=proved)
    assert not proof.failed
    assert [one.split(" (")[0] for one in proof.assumptions] == [
        "any two majorities of Replica share an element"
    ]
