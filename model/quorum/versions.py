"""The versions of the spec `quorum`: Kafka 4.3 with a proposed rule for commits, Kafka 4.3, and
Kafka 3.9.
"""

from __future__ import annotations

from model.language import Bool, true
from model.quorum.claims import QuorumClaims
from model.quorum.state import Offset, Replica
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "flush-before-commit",
    in_force=unreleased("proposed: a leader of Kafka counts its records before it flushes them"),
    default=True,
)
class Quorum(QuorumClaims):
    """Kafka 4.3 with a proposed rule: a leader counts its own records for a commit only after it
    has flushed them.
    """


@version(
    "kafka-4.3",
    breaks="leaders_have_committed_records",
    steps=7,
    at={"replicas": 1, "max_epoch": 2, "max_failures": 1},
    in_force=kafka("4.0", LATEST, "reproduced on a real controller of 4.3"),
)
class Kafka43(Quorum):
    """Kafka 4.3: a leader counts its own records for a commit before it has flushed them.

    In a quorum of one voter, a record is therefore committed before it is flushed. If the power
    fails between the commit and the flush, the next leader lacks the record. With two or more
    voters, all claims hold: a follower must have the record, too, and the leader handles the
    follower's fetch only after it has flushed its own log.
    """

    def own_end(s, r: Replica) -> Offset:
        """Returns the end offset of the leader's log. The last records below this offset may not be
        flushed yet.

        Kafka: KafkaRaftClient.flushLeaderLog, which updates the end offset before it flushes.
        """
        return s.log[r].end_offset


@version(
    "without-pre-vote",
    breaks="no_candidate_is_cut_off",
    steps=3,
    at={"max_failures": 1},
    in_force=kafka("3.3", "3.9"),
)
class WithoutPreVote(Kafka43):
    """Kafka before KIP-996: a replica that has no leader becomes candidate without pre-votes.

    A replica that is cut off becomes candidate repeatedly, each time in a larger epoch. When the
    replica is connected again, its larger epoch deposes a leader that a majority follows.
    """

    def has_enough_pre_votes(s, r: Replica) -> Bool:
        return true
