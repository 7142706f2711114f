"""Retention with eligible leader replicas (KIP-966): a replica outside the ISR may lead.

While the ISR is smaller than min.insync.replicas, nothing is committed. So a replica whose removal
makes the ISR too small has every committed record. This replica joins the ELR and may be elected,
but it learns no new log start until it fetches again.

The spec has the actions of `actions.py` and one further action:

    leader       elect_eligible

Source: KIP-107; KIP-966; Kafka 4.3 (Partition.lowWatermarkIfLeader).
Simplified: min.insync.replicas is 2. The leader stops when another replica is elected from the ELR.
"""

from __future__ import annotations

from model.language import Bool, Set, action, count, exists, forall, implies, when, witness
from model.releases import LATEST, kafka, unreleased
from model.retention.state import Replica
from model.retention.versions import Retention
from model.variants import bug, version


@version(
    "with-elr",
    at={"replicas": 3, "keys": 1},
    in_force=unreleased("proposed: Kafka waits for the live replicas only"),
)
class WithElr(Retention):
    """Retention with an ELR; DeleteRecords waits for every member of the ISR and of the ELR."""

    elr: Set[Replica]

    def is_enough(s) -> Bool:
        return count(s.isr[r] for r in Replica) >= 2

    def is_deleted(s, r: Replica) -> Bool:
        """True if every replica that may lead has deleted all records that DeleteRecords names.

        A replica outside the ISR and the ELR learns the log start before it joins the ISR. If only
        live replicas count, the claim `deleted_stays_deleted` breaks (bug `waits-for-the-live`, 7
        steps).
        """
        return forall(
            implies(s.isr[x] | s.elr[x], s.requested <= s.log[x].log_start) for x in Replica
        )

    @action
    def advance_high_watermark(s, r: Replica) -> None:
        """The leader commits the next record, if the ISR has min.insync.replicas members.

        Kafka: Partition.maybeIncrementLeaderHW and isUnderMinIsr (KIP-966).
        """
        when(s.is_enough())
        super().advance_high_watermark(r)

    @action
    def shrink_isr(s, r: Replica) -> None:
        """A follower leaves the ISR; it joins the ELR if the ISR becomes too small.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (KIP-966).
        """
        small = count(s.isr[x] for x in Replica) <= 2
        for x in Replica:
            s.elr[x] = s.elr[x] | ((x == r) & small)
        super().shrink_isr(r)

    @action
    def expand_isr(s, r: Replica) -> None:
        """A follower joins the ISR, which then has min.insync.replicas members; so the ELR becomes
        empty.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (KIP-966).
        """
        for x in Replica:
            s.elr[x] = False
        super().expand_isr(r)

    @action
    def elect_eligible(s, r: Replica) -> None:
        """The leader stops, and a replica from the ELR becomes leader.

        Kafka: PartitionChangeBuilder.electLeader. Simplified: the members of the ISR stop too.
        """
        when(s.elr[r], s.leader_epoch < s.max_leader_epoch)
        leader_epoch = s.leader_epoch + 1
        for x in Replica:
            s.elr[x] = (x != r) & (s.elr[x] | s.isr[x])
            s.isr[x] = x == r
        s.leader = r
        s.leader_epoch = leader_epoch
        s.epoch[r] = leader_epoch
        s.requested = s.deleted  # clients repeat their requests at the new leader

    @witness
    def an_eligible_replica_has_an_old_epoch(s) -> Bool:
        """Reachable: a replica in the ELR has not yet followed the leader of the present epoch."""
        return exists(s.elr[r] & (s.epoch[r] < s.leader_epoch) for r in Replica)


@bug(
    "waits-for-the-live",
    breaks="deleted_stays_deleted",
    steps=7,
    in_force=kafka("4.1", LATEST, "reproduced on real brokers of 4.3"),
    fixed_by="with-elr",
)
class WaitsForTheLive(WithElr):
    """DeleteRecords waits for live replicas only, and not for a replica in the ELR that is down.

    If the leader then stops, the replica in the ELR leads, and its log begins with the deleted
    records. This rule of KIP-107 was safe before there was an ELR.
    """

    def is_deleted(s, r: Replica) -> Bool:
        """True if every member of the ISR has deleted all records that DeleteRecords names.

        Kafka: Partition.lowWatermarkIfLeader, which waits for the live replicas. Simplified: the
        live replicas are those in the ISR.
        """
        return forall(s.requested <= s.log[x].log_start for x in s.isr)
