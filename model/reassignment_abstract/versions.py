"""The versions of the spec `reassignment-abstract`. Kafka lacks two rules. Each version has both of
them, one, or none.

By the first rule, a broker that is not a replica any more leaves the ELR. By the second rule, a
reassignment ends only if the ISR has min.insync.replicas members.

Source: Vanlightly's kip-966 specification for the rules; Kafka's PartitionChangeBuilder,
PartitionReassignmentReplicas and ReplicationControlManager.
"""

from __future__ import annotations

from model.language import Bool, Set, exists, false, forall, implies
from model.reassignment_abstract.proof import PartitionLemmas
from model.reassignment_abstract.state import Replica
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "keeps-min-isr",
    in_force=unreleased("proposed: no release of Kafka has one of its two rules"),
    default=True,
)
class PartitionProof(PartitionLemmas):
    """Kafka 4.3 with two rules for reassignments that no release has.

    A broker that is not a replica any more leaves the ELR. A reassignment ends only if the ISR then
    has min.insync.replicas members.
    """


@version(
    "elr-of-replicas",
    breaks="enough_members_remain",
    steps=5,
    in_force=unreleased("proposed: no release of Kafka removes a broker from the ELR"),
)
class ElrOfReplicas(PartitionProof):
    """Kafka 4.3 with one rule that no release has: a broker that is not a replica any more leaves
    the ELR.

    After a cancelled reassignment, the ISR may have one member, and the ELR none. If this member
    stops uncleanly, no eligible replica remains. The action `cancel_reassignment` breaks the lemma
    `enough_members_remain`. This counterexample also exists without the rule, and was reproduced on
    real brokers: docs/findings/cancelled-reassignment.md.
    """

    def may_complete(s, isr: Set[Replica], replicas: Set[Replica]) -> Bool:
        return exists(isr[r] for r in Replica)

    def may_cancel(s, isr: Set[Replica]) -> Bool:
        return exists(isr[r] for r in Replica)


@version(
    "kafka-4.3",
    breaks="eligible_replicas_have_committed_records",
    steps=11,
    at={"disturbances": 2, "stops_uncleanly": False},
    in_force=kafka("4.3", LATEST, "reproduced on real brokers"),
)
class Kafka43(ElrOfReplicas):
    """Kafka 4.3: a broker that is not a replica any more stays in the ELR.

    The broker deletes its log. When the broker is a replica again, it may be elected with an empty
    log. The actions `complete_reassignment` and `cancel_reassignment` break the claim
    `members_are_replicas`. The shortest run has 11 steps, and cancels a reassignment. A test
    replays a run of 12 steps without a cancellation. Both runs were reproduced on real brokers:
    docs/findings/stale-elr-member.md.
    """

    def leaves_elr(s, r: Replica, replicas: Set[Replica]) -> Bool:
        return false


@version(
    "kafka-4.1",
    breaks="eligible_replicas_have_committed_records",
    steps=11,
    at={"disturbances": 2, "stops_uncleanly": False},
    in_force=kafka("4.1", "4.2", "reproduced on real brokers of 4.2"),
)
class Kafka41(Kafka43):
    """Kafka 4.1: a reassignment completes only when every remaining replica is in the ISR.

    When all of them are in the ISR, the ELR is empty. So no removed broker stays in the ELR after a
    completed reassignment. But after a cancelled reassignment, an added broker may stay in the ELR:
    the action `cancel_reassignment` breaks the claim `members_are_replicas`.
    """

    def may_complete(s, isr: Set[Replica], replicas: Set[Replica]) -> Bool:
        return forall(implies(replicas[r], isr[r]) for r in Replica)
