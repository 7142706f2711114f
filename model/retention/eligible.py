"""Retention with eligible leader replicas (ELR, KIP-966): a replica outside the ISR may become
leader.

While the ISR is smaller than min.insync.replicas, no record is committed. So if the removal of a
replica makes the ISR too small, this replica has every committed record. The replica joins the ELR
and may be elected. But it learns no new log start until it fetches again.

The spec has the actions of `actions.py` and one further action:

    leader       elect_eligible

Source: KIP-107; KIP-966; Kafka 4.3 (Partition.lowWatermarkIfLeader).
Simplified: min.insync.replicas is 2. The leader stops when another replica is elected from the ELR.
"""

from __future__ import annotations

from model.language import Bool, Set, action, count, exists, forall, implies, when, witness
from model.releases import unreleased
from model.retention.state import Replica
from model.retention.versions import Retention
from model.variants import version


@version(
    "with-elr",
    at={"replicas": 3, "keys": 1},
    in_force=unreleased("proposed: Kafka waits for the live replicas only"),
)
class WithElr(Retention):
    """Retention with eligible leader replicas (ELR). A DeleteRecords request succeeds after every
    member of the ISR and of the ELR has deleted the records.
    """

    elr: Set[Replica]

    def is_enough(s) -> Bool:
        return count(s.isr[r] for r in Replica) >= 2

    def is_deleted(s, r: Replica) -> Bool:
        """Returns True if every replica that may be elected has deleted all records below the
        offset of the DeleteRecords request.

        A replica that is neither in the ISR nor in the ELR cannot be elected. It learns the
        leader's log start before it joins the ISR. If only live replicas must have deleted the
        records, the claim `deleted_stays_deleted` breaks (bug `waits-for-the-live`, 7 steps).
        """
        return forall(
            implies(s.isr[x] | s.elr[x], s.requested <= s.log[x].log_start) for x in Replica
        )

    @action
    def advance_high_watermark(s, r: Replica) -> None:
        """The leader commits the next record, if the ISR has at least min.insync.replicas members.

        Kafka: Partition.maybeIncrementLeaderHW and isUnderMinIsr (KIP-966).

        Without the guard that the ISR has enough members, the claim `latest_values_are_kept` breaks
        in 5 steps.
        """
        when(s.is_enough())
        super().advance_high_watermark(r)

    @action
    def shrink_isr(s, r: Replica) -> None:
        """The leader removes a follower from the ISR. If the ISR is then smaller than
        min.insync.replicas, the follower joins the ELR.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (KIP-966).

        Without the guard that the follower is in the ISR, the claim `latest_values_are_kept` breaks
        in 6 steps.
        """
        small = count(s.isr[x] for x in Replica) <= 2
        for x in Replica:
            s.elr[x] = s.elr[x] | ((x == r) & small)
        super().shrink_isr(r)

    @action
    def expand_isr(s, r: Replica) -> None:
        """A follower joins the ISR, and the ELR becomes empty, because the ISR then has at least
        min.insync.replicas members.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (KIP-966).

        Without the guard that the follower has every committed record, the claim
        `latest_values_are_kept` breaks in 5 steps.
        """
        for x in Replica:
            s.elr[x] = False
        super().expand_isr(r)

    @action
    def elect_eligible(s, r: Replica) -> None:
        """The leader stops, and a replica from the ELR becomes leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: the members of the ISR stop in the same step.

        Without the guard that the replica is in the ELR, the claim `latest_values_are_kept` breaks
        in 5 steps.
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
        """Reachable: a replica in the ELR has not yet followed the leader of the present leader
        epoch.
        """
        return exists(s.elr[r] & (s.epoch[r] < s.leader_epoch) for r in Replica)
