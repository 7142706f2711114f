"""The actions of reassignments by the operator, and of elections during a reassignment.

Whenever the controller changes the partition, it updates the ELR and elects a leader among the
replicas. If a replica was removed, a new leader epoch begins. When the leader requests another ISR
or the operator sends a request, the controller first tests whether the reassignment can complete.

The table lists all actions (`Next` in TLA+) by role. WF: weakly fair; SF: strongly fair.

    brokers      WF apply_metadata, WF delete_replica, write, SF advance_high_watermark,
                 shrink_isr, WF fetch, WF truncate_to_shared, take_late_fetch
    faults       kill, lose_power, replace_disk
    operator     add_replicas, remove_replica, replace_replica, cancel_reassignment,
                 move_leader, shut_down
    controller   expire_session, WF detect_crash, WF register, WF unfence, WF grant_isr,
                 WF refuse_isr

Source: KIP-455; Kafka's PartitionChangeBuilder, PartitionReassignmentReplicas,
PartitionReassignmentRevert, ReplicationControlManager, Partition.
Simplified: the controller applies these rules in every step. Kafka does not always apply them in a
step that changes neither the leader nor the ISR. A broker that restarts applies only the newest
metadata.
"""

from __future__ import annotations

from model.election.actions.controller import NO_REPLICA
from model.election.state import BrokerEpoch, Offset, Replica
from model.language import (
    Bool,
    Map,
    Set,
    action,
    all_of,
    any_of,
    count,
    exists,
    false,
    forall,
    implies,
    nothing,
    true,
    when,
)
from model.reassignment.state import ReassignedPartition


def without(members: Set[Replica], others: Set[Replica]) -> Set[Replica]:
    return Map(Replica, lambda r: members[r] & ~others[r])


class Reassignments(ReassignedPartition):
    # ---- rules that versions replace

    def may_complete(
        s, isr: Set[Replica], replicas: Set[Replica], adding: Set[Replica], removing: Set[Replica]
    ) -> Bool:
        """Returns True if a reassignment with the ISR `isr` may complete.

        The ISR `isr` is without the replicas that the reassignment removes. It must have a member,
        and must have every added replica. If the reassignment lowers the number of replicas, the
        ISR must have every replica that remains (`replicas`).

        Kafka: PartitionReassignmentReplicas.maybeCompleteReassignment, since 4.3.
        """
        falls = count(adding[r] for r in Replica) < count(removing[r] for r in Replica)
        return all_of(
            exists(isr[r] for r in Replica),
            forall(implies(adding[r], isr[r]) for r in Replica),
            ~falls | forall(implies(replicas[r], isr[r]) for r in Replica),
        )

    def leaves_elr(s, r: Replica, replicas: Set[Replica]) -> Bool:
        """Returns True if the broker must leave the ELR, because it is not a replica any more.

        Kafka lacks this rule. Without this rule, the claim `leader_completeness` breaks (version
        `kafka-4.3`, 15 steps).
        """
        return ~replicas[r]

    # ---- the controller

    def change_partition(
        s,
        isr: Set[Replica],
        alive: Set[Replica],
        unclean: Set[Replica] = NO_REPLICA,
        *,
        reassigns: Bool = false,
        removes: Bool = false,
    ) -> None:
        """Changes the ISR, and elects another leader if the present leader is not eligible any
        more.

        The arguments have the same meaning as in `change_members`. The set of replicas does not
        change: only `change_replicas` completes a reassignment.
        """
        s.change_members(isr, alive, unclean, s.assignment.replicas, reassigns, removes)

    def change_members(
        s,
        isr: Set[Replica],
        alive: Set[Replica],
        unclean: Set[Replica],
        replicas: Set[Replica],
        reassigns: Bool,
        removes: Bool,
    ) -> None:
        """Changes the ISR and the ELR, and elects another leader if the present leader is not
        eligible any more.

        A new leader is in `replicas` and in `alive`. The brokers in `unclean` leave the ELR. The
        argument `reassigns` is true if the reassignment or the set of replicas changes, and
        `removes` is true if a replica is removed.

        Kafka: PartitionChangeBuilder.build.
        """
        super().change_partition(
            isr,
            Map(Replica, lambda r: alive[r] & replicas[r]),
            Map(Replica, lambda r: unclean[r] | s.leaves_elr(r, replicas)),
            reassigns=reassigns,
            removes=removes,
        )

    def change_replicas(s, isr: Set[Replica], adding: Set[Replica], removing: Set[Replica]) -> None:
        """Changes the ISR and the reassignment. If the reassignment may complete, it completes
        in this step.
        """
        before = s.assignment
        replicas: Set[Replica] = Map(Replica, lambda r: before.replicas[r] | adding[r])
        # This is true without a reassignment too, and changes nothing then.
        completes = s.may_complete(
            without(isr, removing), without(replicas, removing), adding, removing
        )
        leaving: Set[Replica] = Map(Replica, lambda r: completes & removing[r])
        s.write_replicas(
            without(isr, leaving),
            without(replicas, leaving),
            Map(Replica, lambda r: adding[r] & ~completes),
            without(removing, leaving),
        )

    def write_replicas(
        s, isr: Set[Replica], replicas: Set[Replica], adding: Set[Replica], removing: Set[Replica]
    ) -> None:
        """Writes the ISR, the replicas and the reassignment, and elects another leader if the
        present leader is not eligible any more.
        """
        before = s.assignment
        differs = any_of(
            before.replicas != replicas, before.adding != adding, before.removing != removing
        )
        removes = exists(before.replicas[r] & ~replicas[r] for r in Replica)
        s.change_members(isr, s.alive(), NO_REPLICA, replicas, differs, removes)
        for r in Replica:
            in_replicas, is_added, is_removed = replicas[r], adding[r], removing[r]
            s.assignment.replicas[r] = in_replicas
            s.assignment.adding[r] = is_added
            s.assignment.removing[r] = is_removed

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts the leader's AlterPartition request. If the reassignment may then
        complete, it completes in the same step.

        Kafka: ReplicationControlManager.alterPartition, PartitionChangeBuilder.build.
        Simplified: the simplifications of the action `grant_isr` of the spec `election` apply.
        Kafka tests at every change of the partition whether the reassignment may complete. This
        spec tests it only in this action and in requests of the operator, because no other change
        adds a member to the ISR.

        Without the guard that the leader is current, the claim `members_are_replicas` breaks in 4
        steps. Without the check of the members, the claim `fenced_is_out_of_sync` breaks in 7.
        """
        asked = s.broker[leader]
        when(
            s.presumes_leadership(leader),
            asked.is_pending,
            asked.is_current,
            s.may_be_members(leader),
        )
        s.change_replicas(asked.proposed, s.assignment.adding, s.assignment.removing)

    # ---- the operator

    def count_reassignment(s) -> None:
        when(s.reassignments < s.max_reassignments)
        s.reassignments = s.reassignments + 1

    def add(s, added: Set[Replica], removed: Set[Replica] = NO_REPLICA) -> None:
        """Begins a reassignment that adds the replicas `added` and removes the replicas `removed`.
        No other reassignment may be in progress.

        While the ISR is empty, the spec leaves out requests to add a broker that is still in the
        ELR. For such a request, Kafka elects the added broker at once, looks up its directory in
        the old registration (LeaderAcceptor), and fails with an exception.
        """
        isr, elr = s.partition_registration.isr, s.partition_registration.elr
        elects_added = s.is_empty(isr) & exists(added[r] & elr[r] for r in Replica)
        when(~s.is_in_progress(), ~elects_added)
        s.count_reassignment()
        replicas = s.assignment.replicas
        s.write_replicas(isr, Map(Replica, lambda r: replicas[r] | added[r]), added, removed)

    @action
    def add_replicas(s, a: Replica, b: Replica) -> None:
        """An operator adds the brokers `a` and `b` to the replicas of the partition, or one broker
        if `a` equals `b`.

        Kafka: AlterPartitionReassignments, ReplicationControlManager.changePartitionReassignment.
        Simplified: a request adds one or two replicas.
        """
        when(true if s.changes_factor else false, a <= b)
        when(~s.assignment.replicas[a], ~s.assignment.replicas[b])
        s.add(NO_REPLICA | {a, b})

    @action
    def remove_replica(s, r: Replica) -> None:
        """An operator removes a replica of the partition, unless it is the only replica.

        Kafka: AlterPartitionReassignments, ReplicationControlManager.changePartitionReassignment.
        Simplified: a request removes one replica.

        Without the guard that the broker is a replica, the claim `changing_are_replicas` breaks in
        3 steps.
        """
        when(
            true if s.changes_factor else false,
            s.assignment.replicas[r],
            exists((x != r) & s.assignment.replicas[x] for x in Replica),
            ~s.is_in_progress(),
        )
        s.count_reassignment()
        s.change_replicas(s.partition_registration.isr, NO_REPLICA, NO_REPLICA | {r})

    @action
    def replace_replica(s, old: Replica, new: Replica) -> None:
        """An operator moves a replica of the partition from the broker `old` to the broker `new`.

        Kafka: AlterPartitionReassignments, ReplicationControlManager.changePartitionReassignment.
        Simplified: a request moves one replica.
        """
        when(s.assignment.replicas[old], ~s.assignment.replicas[new])
        s.add(NO_REPLICA | {new}, NO_REPLICA | {old})

    @action
    def cancel_reassignment(s) -> None:
        """An operator cancels the reassignment: the brokers that it has added are not replicas any
        more.

        Kafka: ReplicationControlManager.cancelPartitionReassignment, which refuses a cancellation
        that would make the ISR empty.
        Simplified: the constant `max_reassignments` also limits cancellations: each cancellation
        counts as a reassignment.
        """
        now = s.assignment
        isr = without(s.partition_registration.isr, now.adding)
        when(s.is_in_progress(), exists(isr[r] for r in Replica))
        s.count_reassignment()
        s.write_replicas(isr, without(now.replicas, now.adding), NO_REPLICA, NO_REPLICA)

    # ---- brokers

    @action(fair="weak")
    def apply_metadata(s, r: Replica) -> None:
        """A replica applies the newest metadata. A leader also stores the replicas of the
        partition.

        Kafka: Partition.makeLeader, makeFollower and updateAssignmentAndIsr.
        Simplified: a broker applies all metadata at once.

        At the default constants, every claim also holds without any one of the guards.
        """
        when(s.assignment.replicas[r])
        leads = s.published_partition().leader == r
        super().apply_metadata(r)
        for x in Replica:
            s.known_replicas[r][x] = leads & s.assignment.replicas[x]

    @action(fair="weak")
    def delete_replica(s, r: Replica) -> None:
        """A broker learns that it is not a replica any more, and deletes its log.

        Kafka: ReplicaManager.stopPartitions with deletion.
        Simplified: the log is empty at once. A broker that restarts deletes its log as soon as it
        is up.

        Without the guard that the broker is not a replica, the claim `leader_completeness` breaks
        in 5 steps.
        """
        known = s.broker[r]
        keeps = any_of(known.leader != nothing, Offset(0) < known.end_offset)
        when(known.is_up, ~s.assignment.replicas[r], keeps)
        s.forget_partition(r)
        s.broker[r].leader = nothing
        s.broker[r].is_current = false
        s.truncate_to(r, Offset(0))

    def forget_partition(s, r: Replica) -> None:
        s.clear_request(r)
        for x in Replica:
            s.broker[r].follower[x].end_offset = Offset(0)
            s.broker[r].follower[x].broker_epoch = BrokerEpoch(0)
            s.broker[r].isr[x] = false
            s.known_replicas[r][x] = false

    def stop(s, r: Replica, *, cleanly: Bool) -> None:
        """Stops the broker as the method `stop` of the spec `election` does. If the broker leads,
        it also forgets which replicas the partition has.
        """
        super().stop(r, cleanly=cleanly)
        for x in Replica:
            s.known_replicas[r][x] = false

    def may_commit(s, leader: Replica) -> Bool:
        """Returns True if the leader's ISR is large enough to commit records.

        The ISR needs min.insync.replicas members. If the leader knows fewer replicas than that, the
        ISR needs all of them.

        Kafka: Partition.effectiveMinIsr.
        """
        return s.is_enough_of(s.broker[leader].isr, s.known_replicas[leader])

    @action(fair="weak")
    def fetch(s, follower: Replica, leader: Replica) -> None:
        """A follower fetches as in the spec `election`, if the leader's metadata lists the follower
        as a replica.

        Kafka: Partition.fetchRecords, which refuses the fetch of a broker that is not a replica.
        Simplified: the request and the response are one step.

        Without the guard that the follower follows the leader of the same epoch, the claim
        `acknowledged_within_isr` breaks in 7 steps.
        """
        when(s.known_replicas[leader][follower])
        super().fetch(follower, leader)

    @action
    def take_late_fetch(s, leader: Replica, follower: Replica) -> None:
        """A leader receives a late fetch request: the follower that sent it has stopped in the
        meantime.

        Kafka: Partition.updateFollowerFetchState.
        Simplified: at most one fetch request is late.

        At the default constants, where no broker fails, every claim also holds without any one of
        the guards.
        """
        when(s.known_replicas[leader][follower])
        super().take_late_fetch(leader, follower)
