"""The actions of the controller and the operator: elections, changes of the ISR, and reassignments.

A replica that leaves the ISR joins the ELR, unless the ISR still has min.insync.replicas members.
While the ISR has fewer members, no record is committed. So the replicas in the ELR have every
committed record.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Set,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    true,
    when,
)
from model.reassignment_abstract.state import (
    AbstractPartitionState,
    Disturbance,
    LeaderEpoch,
    Replica,
)

NOBODY: Set[Replica] = Map(Replica, lambda _: false)


class Registration(AbstractPartitionState):
    # ---- rules that versions and bugs replace

    def leaves_elr(s, r: Replica, replicas: Set[Replica]) -> Bool:
        """Returns True if the broker must leave the ELR, because it is not a replica any more.

        Kafka lacks this rule. Without this rule, the claim
        `eligible_replicas_have_committed_records` breaks (version `kafka-4.3`, 11 steps).
        """
        return ~replicas[r]

    def may_complete(s, isr: Set[Replica], replicas: Set[Replica]) -> Bool:
        """Returns True if `isr`, the ISR after the reassignment, has enough members to commit
        records.

        Kafka lacks this rule, but Vanlightly's specification of KIP-966 has it.
        """
        return s.is_enough(isr)

    def may_cancel(s, isr: Set[Replica]) -> Bool:
        """Returns True if `isr`, the ISR after a reassignment is cancelled, has enough members to
        commit records.

        Kafka lacks this rule. Without this rule, the claim `enough_members_remain` breaks (version
        `elr-of-replicas`, 5 steps).
        """
        return s.is_enough(isr)

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        """Returns True if the controller must empty the ELR, because `isr` has enough members to
        commit records.

        Without this rule, the claim `eligible_replicas_have_committed_records` breaks (bug
        `eligible-for-ever`, 8 steps). If min.insync.replicas counts as 1, the claim
        `enough_members_remain` breaks (bug `min-isr-of-partition-0`, 1 step).
        """
        return s.is_enough(isr)

    def ends_with_election(s, alone: Set[Replica]) -> Bool:
        """Returns True if `alone`, the ISR with only the elected member of the ELR, has enough
        members to commit records. The controller must then empty the ELR.

        Without this rule, the claim `eligible_replicas_have_committed_records` breaks if
        min.insync.replicas may change (bug `keeps-elr-at-election`, 8 steps).
        """
        return s.ends_eligibility(alone)

    # ---- the ISR and the ELR

    def write_members(
        s, e: LeaderEpoch, isr: Set[Replica], out: Set[Replica], replicas: Set[Replica]
    ) -> None:
        """Writes the ISR `isr` and the new ELR for the leader epoch `e`.

        If `isr` has enough members to commit records, the new ELR is empty. Otherwise the new ELR
        has the members of the present ISR and ELR, with three exceptions: the members of `isr`, the
        brokers in `out`, and the brokers that must leave the ELR (`leaves_elr`).

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr.
        """
        s.write_members_or_end(e, isr, out, replicas, s.ends_eligibility(isr))

    def write_members_or_end(
        s,
        e: LeaderEpoch,
        isr: Set[Replica],
        out: Set[Replica],
        replicas: Set[Replica],
        ends: Bool,
    ) -> None:
        """Writes the ISR and the ELR as `write_members` does, except that `ends` decides whether
        the ELR is emptied.
        """
        now = s.newest
        for r in Replica:
            was_member = s.isr[now][r] | s.elr[now][r]
            stays = all_of(~ends, was_member, ~isr[r], ~out[r], ~s.leaves_elr(r, replicas))
            in_isr = isr[r]
            s.isr[e][r] = in_isr
            s.elr[e][r] = stays

    def forget_proposals(s) -> None:
        """Drops the newest leader's pending proposals for the ISR, because the partition's
        registration changes.

        Kafka: the controller rejects an AlterPartition request with an old partition epoch.
        """
        for r in Replica:
            s.led[s.newest].proposed[r] = False

    def begin(s, newer: LeaderEpoch) -> None:
        s.elected[newer] = true
        s.newest = newer

    def begin_with(s, newer: LeaderEpoch, leader: Replica) -> None:
        s.begin(newer)
        s.leader[newer] = leader

    @action
    def elect(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch, with a member of the ISR as leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: an election may happen at any time.

        Without the guard that the leader is in the ISR, the claim
        `eligible_replicas_have_committed_records` breaks in 8 steps.
        """
        members = s.isr[s.newest]
        when(s.newest < newer, members[leader])
        s.write_members(newer, members, NOBODY, s.replicas)
        s.begin_with(newer, leader)

    @action
    def elect_nobody(s, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch without a leader.

        Kafka: PartitionChangeBuilder.electLeader, when no candidate is alive.
        Simplified: this may happen at any time.
        """
        when(s.newest < newer)
        s.write_members(newer, s.isr[s.newest], NOBODY, s.replicas)
        s.vacant[newer] = true
        s.begin(newer)

    @action
    def elect_eligible(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller elects a replica of the ELR, which becomes the leader and the only member
        of the ISR.

        Before the election, the ISR is empty, or its only member is the old leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: this may happen at any time.

        Without the guard that the new leader is in the ELR, the claim
        `eligible_replicas_have_committed_records` breaks in 7 steps.
        """
        members = s.isr[s.newest]
        when(
            s.newest < newer,
            s.elr[s.newest][leader] & s.replicas[leader],
            forall(implies(members[r], s.leads_in(r, s.newest)) for r in Replica),
        )
        alone: Set[Replica] = Map(Replica, lambda r: r == leader)
        ends = s.ends_with_election(alone)
        s.write_members_or_end(newer, alone, NOBODY, s.replicas, ends)
        s.begin_with(newer, leader)

    @action
    def shrink_isr(s, out: Replica) -> None:
        """The controller shrinks the ISR by one replica, which is not the leader.

        Kafka: ReplicationControlManager.handleBrokerFenced and alterPartition.
        Simplified: this may happen at any time.

        Without the guard that the leader stays in the ISR, the lemma `epochs_are_elected` breaks in
        1 step.
        """
        members = s.isr[s.newest]
        when(members[out], ~s.leads_in(out, s.newest))
        s.write_members(
            s.newest, Map(Replica, lambda r: members[r] & (r != out)), NOBODY, s.replicas
        )
        s.forget_proposals()

    @action
    def expand_isr(s, added: Replica) -> None:
        """The controller accepts the leader's request to add a replica to the ISR.

        Kafka: ReplicationControlManager.alterPartition.

        Without the guard that the leader has requested to add the replica, the claim
        `eligible_replicas_have_committed_records` breaks in 6 steps.
        """
        members = s.isr[s.newest]
        when(s.led[s.newest].proposed[added], s.replicas[added])
        s.write_members(
            s.newest, Map(Replica, lambda r: members[r] | (r == added)), NOBODY, s.replicas
        )
        s.forget_proposals()

    def may_drop(s, e: LeaderEpoch) -> Bool:
        """Returns True if the leader of the epoch `e` may drop a request that the controller has
        refused. The refusal must prove that the controller has not added the replica of the
        request.

        Kafka: only INELIGIBLE_REPLICA, with the present partition epoch, proves this.

        If any refusal counts as such a proof, the claim `eligible_replicas_have_committed_records`
        breaks (bug `falls-back-on-any-refusal`, 8 steps).
        """
        return s.knows_the_isr(e)

    def knows_the_isr(s, e: LeaderEpoch) -> Bool:
        return forall(s.led[e].isr[r] == s.isr[e][r] for r in Replica)

    @action
    def refuse_member(s, f: Replica) -> None:
        """The controller refuses to add a replica to the ISR, and the leader no longer waits for
        this replica.

        Kafka: ReplicationControlManager.validateAlterPartitionData.
        Simplified: the controller may refuse for any reason.

        The leader must not know the replica as a member of the ISR. Without this guard, the claim
        `eligible_replicas_have_committed_records` breaks in 3 steps.
        """
        now = s.newest
        when(s.led[now].maximal_isr[f], ~s.led[now].isr[f], s.may_drop(now))
        s.led[now].maximal_isr[f] = False
        s.led[now].proposed[f] = False

    # ---- the operator

    def disturb(s, number: Disturbance) -> None:
        """Gives a number to a disturbance: a request of the operator, or an unclean stop of a
        broker. The number is larger than all earlier ones.

        In an exploration, the constant `disturbances` limits these numbers.
        """
        when(s.last_disturbance < number)
        s.last_disturbance = number

    def count(s, request: Disturbance) -> None:
        """Records a request of the operator. The leader's requests to change the ISR are then out
        of date, so they are dropped.
        """
        s.disturb(request)
        s.forget_proposals()

    def may_be_removed(s, r: Replica) -> Bool:
        return all_of(s.replicas[r], ~s.adding[r], ~s.removing[r])

    @action
    def add_replica(s, new: Replica, request: Disturbance) -> None:
        """An operator adds a replica to the partition.

        Kafka: ReplicationControlManager.changePartitionReassignment.
        Simplified: each request adds one replica. A request extends a reassignment that is in
        progress.
        """
        when(~s.replicas[new])
        s.count(request)
        s.replicas[new] = True
        s.adding[new] = True

    @action
    def remove_replica(s, old: Replica, request: Disturbance) -> None:
        """An operator requests to remove a replica, which remains a replica until the reassignment
        completes.

        Kafka: ReplicationControlManager.changePartitionReassignment.
        Simplified: each request removes one replica. A request extends a reassignment that is in
        progress.
        """
        when(s.may_be_removed(old))
        s.count(request)
        s.removing[old] = True

    @action
    def replace_replica(s, old: Replica, new: Replica, request: Disturbance) -> None:
        """An operator moves a replica of the partition from the broker `old` to the broker `new`.

        Kafka: ReplicationControlManager.changePartitionReassignment.
        Simplified: each request moves one replica. A request extends a reassignment that is in
        progress.
        """
        when(s.may_be_removed(old), ~s.replicas[new])
        s.count(request)
        s.replicas[new] = True
        s.adding[new] = True
        s.removing[old] = True

    def remove(
        s, gone: Set[Replica], isr: Set[Replica], leader: Replica, newer: LeaderEpoch
    ) -> None:
        remaining: Set[Replica] = Map(Replica, lambda r: s.replicas[r] & ~gone[r])
        when(
            s.newest < newer,
            exists(gone[r] for r in Replica),
            isr[leader],
            s.is_enough(remaining),
        )
        s.write_members(newer, isr, NOBODY, remaining)
        s.begin_with(newer, leader)
        for r in Replica:
            stays = remaining[r]
            s.replicas[r] = stays
            s.adding[r] = False
            s.removing[r] = False

    @action
    def complete_reassignment(s, added: Replica, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller completes a reassignment, when the replica `added` joins the ISR or is
        already in it. The leader epoch `newer` begins, with the leader `leader`.

        Kafka: PartitionReassignmentReplicas.maybeCompleteReassignment and
        PartitionChangeBuilder.build.
        Simplified: the reassignment may also complete some time after all added replicas have
        joined the ISR.

        Without the guard that the replica `added` is in the ISR or joins it, the claim
        `eligible_replicas_have_committed_records` breaks in 6 steps.
        """
        now, removing, replicas = s.newest, s.removing, s.replicas
        joins = s.led[now].proposed[added] & replicas[added]
        members: Set[Replica] = Map(Replica, lambda r: s.isr[now][r] | (r == added))
        left: Set[Replica] = Map(Replica, lambda r: members[r] & ~removing[r])
        when(
            s.isr[now][added] | joins,
            forall(implies(s.adding[r], members[r]) for r in Replica),
            s.may_complete(left, Map(Replica, lambda r: replicas[r] & ~removing[r])),
        )
        s.joined_last[now][added] = ~s.isr[now][added]
        s.remove(removing, left, leader, newer)

    @action
    def finish_adding(s) -> None:
        """The controller completes a reassignment that removes no replica, because all added
        replicas are in the ISR.

        Kafka: PartitionReassignmentReplicas.maybeCompleteReassignment.
        """
        when(
            forall(~s.removing[r] for r in Replica),
            forall(implies(s.adding[r], s.isr[s.newest][r]) for r in Replica),
        )
        for r in Replica:
            s.adding[r] = False

    @action
    def cancel_reassignment(s, leader: Replica, newer: LeaderEpoch) -> None:
        """An operator cancels a reassignment. The brokers that it has added are not replicas any
        more. The leader epoch `newer` begins, with the leader `leader`.

        Kafka: ReplicationControlManager.cancelPartitionReassignment.

        Without the guard that the new leader remains in the ISR, the claim
        `leaders_begin_with_committed_records` breaks in 7 steps.
        """
        adding = s.adding
        left: Set[Replica] = Map(Replica, lambda r: s.isr[s.newest][r] & ~adding[r])
        when(s.may_cancel(left))
        s.remove(adding, left, leader, newer)

    @action
    def cancel_removal(s) -> None:
        """An operator cancels a reassignment that only removes replicas. The replicas stay.

        No leader epoch begins.

        Kafka: ReplicationControlManager.cancelPartitionReassignment.
        """
        when(forall(~s.adding[r] for r in Replica), exists(s.removing[r] for r in Replica))
        s.forget_proposals()
        for r in Replica:
            s.removing[r] = False
