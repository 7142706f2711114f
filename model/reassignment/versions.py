"""The versions of the spec `reassignment`: a proposed rule for the ELR, Kafka 4.3, and Kafka 4.1.

Source: Vanlightly's kip-966 specification for the proposed rule; KIP-966; Kafka 4.3
(PartitionReassignmentReplicas).
"""

from __future__ import annotations

from model.election.state import Replica
from model.language import Bool, Set, all_of, exists, false, forall, implies
from model.reassignment.claims import ReassignmentClaims
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "elr-of-replicas",
    in_force=unreleased("proposed: no release of Kafka removes a broker from the ELR"),
    default=True,
)
class ElrOfReplicas(ReassignmentClaims):
    """Kafka 4.3 with one rule that no release has: a broker that is not a replica any more
    leaves the ELR.
    """


@version(
    "kafka-4.3",
    breaks="leader_completeness",
    steps=15,
    at={"replicas": 3, "changes_factor": False},
    in_force=kafka("4.3", LATEST, "reproduced on real brokers"),
)
class Kafka43(ElrOfReplicas):
    """Kafka 4.3: a broker that is not a replica any more stays in the ELR.

    When the broker is a replica again, it may be elected with an empty log. This may happen
    although no broker has failed, and although every reassignment preserves the number of replicas.
    """

    def leaves_elr(s, r: Replica, replicas: Set[Replica]) -> Bool:
        """Returns False always: a removed replica stays in the ELR.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr.
        """
        return false


@version(
    "kafka-4.1",
    breaks="candidate_completeness",
    steps=4,
    in_force=kafka("4.1", "4.2", "reproduced on real brokers"),
)
class Kafka41(Kafka43):
    """Kafka 4.1: a reassignment completes only when every remaining replica is in the ISR.

    Suppose that the number of replicas equals min.insync.replicas. If a reassignment removes a
    replica, the ISR is too small, and the removed broker joins the ELR, although it is not a
    replica any more.

    With three replicas and min.insync.replicas=3, the removed broker may be added again and
    elected. The version then also breaks the claim `leader_completeness`. No record is lost if
    every reassignment preserves the number of replicas.
    """

    def may_complete(
        s, isr: Set[Replica], replicas: Set[Replica], adding: Set[Replica], removing: Set[Replica]
    ) -> Bool:
        """Returns True if the ISR has every replica that remains after the reassignment.

        Kafka: PartitionReassignmentReplicas.maybeCompleteReassignment, before 4.3.
        """
        return all_of(
            exists(isr[r] for r in Replica),
            forall(implies(replicas[r], isr[r]) for r in Replica),
        )
