"""The versions of the spec `quorum-abstract`: Kafka 4.3 with a proposed rule for commits, and
Kafka 4.3.
"""

from __future__ import annotations

from model.language import ite
from model.quorum_abstract.proof import QuorumLemmas
from model.quorum_abstract.state import Offset, Replica
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "flush-before-commit",
    in_force=unreleased("proposed: a leader of Kafka counts its records before it flushes them"),
    default=True,
)
class QuorumProof(QuorumLemmas):
    """Kafka 4.3 with a rule that no release has: a leader counts only its flushed records for a
    commit.
    """


@version(
    "kafka-4.3",
    breaks="leaders_have_committed_records",
    steps=7,
    at={"replicas": 1},
    in_force=kafka("4.0", LATEST, "reproduced on a real controller of 4.3"),
)
class Kafka43(QuorumProof):
    """Kafka 4.3: a leader counts its own records for a commit before it has flushed them.

    In a quorum of one voter, a restart may then lose a committed record. The action
    `advance_high_watermark` breaks the lemma `a_majority_has_what_is_committed`. An exploration
    finds no violation with two or three voters. The docstring of the version `kafka-4.3` of the
    spec `quorum` explains why.
    """

    def has_up_to(s, leader: Replica, x: Replica) -> Offset:
        return ite(x == leader, s.replica[leader].end_offset, super().has_up_to(leader, x))
