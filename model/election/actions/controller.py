"""The actions of the controller: it maintains the ISR and the ELR, and elects leaders.

A replica that leaves the ISR joins the ELR (eligible leader replicas) if the ISR then has fewer
members than min.insync.replicas. While the ISR is so small, no record is committed. So the replica
has every committed record.

Every action that changes the partition elects a leader. The first of these rules that finds a
broker decides:

1. the current leader, if it is live and in the ISR (or in the ELR, if the ISR is empty);
2. the first live member of the ISR, in the order of the replica list;
3. if the ISR is empty, the first live member of the ELR;
4. the last known leader, if `is_last_known_leader` is true for it.

Source: Kafka's PartitionChangeBuilder and ReplicationControlManager; KIP-631, KIP-497, KIP-966.
Simplified: a controlled shutdown is one step. A change of the controller is committed at once, and
the controller never fails. Only in the version `controller-failover`, a change is committed in a
later step, and the controller may fail.
"""

from __future__ import annotations

from collections.abc import Callable

from model.election.actions.brokers import Brokers
from model.election.state import Replica
from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    any_of,
    exists,
    false,
    first,
    forall,
    ite,
    nothing,
    true,
    when,
)

NO_REPLICA: Set[Replica] = Map(Replica, lambda _: false)


class Controller(Brokers):
    # ---- rules that versions and bugs replace

    def remaining_isr(s, r: Replica) -> Set[Replica]:
        return s.partition_registration.isr - {r}

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        """Returns True if the controller must empty the ELR, because the ISR can now commit records
        that other replicas lack.

        Without this rule, the claim `candidate_completeness` breaks (bug `eligible-for-ever`, 6
        steps).

        The ISR can commit records if it has min.insync.replicas members, or if it has all replicas.
        If the controller limits min.insync.replicas to the number of replicas of another partition,
        the claim `leader_completeness` breaks (bug `min-isr-of-partition-0`, 9 steps).
        """
        return s.is_enough(isr)

    def is_eligible(s, r: Replica, isr: Set[Replica], elr: Set[Replica], is_empty: Bool) -> Bool:
        """Returns True if the replica is in the ISR. If the ISR is empty (`is_empty`), it also
        returns True for a member of the ELR.
        """
        return isr[r] | (elr[r] & is_empty)

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
        """Returns True if the replica is the last known leader and may be elected. It must be
        alive, and the ISR and the ELR must be empty (`none_eligible`).

        Without the check that the replica is alive, the claim `leader_is_alive_and_in_isr` breaks
        (bug `elects-the-dead`, KAFKA-19522).
        """
        return all_of(none_eligible, s.partition_registration.last_known[r], alive[r])

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        """Returns True if the replica was the leader when the ISR became empty, and no replica has
        led after it. The argument `leads` is true if a replica leads after the change.
        """
        had_isr = exists(s.partition_registration.isr[x] for x in Replica)
        return ~leads & ite(
            had_isr, s.partition_registration.leader == r, s.partition_registration.last_known[r]
        )

    def is_unclean(s, r: Replica) -> Bool:
        """Returns True if the broker's latest stop was not a clean shutdown.

        Kafka: the registration of the broker lacks its previous broker epoch.

        Such a broker leaves the ISR and the ELR when it registers. If it stays, the claim
        `leader_completeness` breaks (bug `admits-unclean`, 9 steps; KAFKA-18635).
        """
        return ~s.broker[r].stopped_cleanly

    def begins_epoch(s, moves: Bool) -> Bool:
        """Returns True if a change of the partition begins a new leader epoch.

        The argument `moves` is true if the change replaces, removes or adds a leader.

        Without this rule, the claim `one_leader_per_epoch` breaks (bug `keeps-epoch`, 2 steps).
        """
        return moves

    # ---- partition changes

    def is_empty(s, members: Set[Replica]) -> Bool:
        return forall(~members[r] for r in Replica)

    def alive(s) -> Set[Replica]:
        return Map(Replica, s.is_alive)

    def change_partition(
        s,
        isr: Set[Replica],
        alive: Set[Replica],
        unclean: Set[Replica] = NO_REPLICA,
        *,
        reassigns: Bool = false,
        removes: Bool = false,
    ) -> None:
        """Sets the ISR, updates the ELR, and elects another leader if the present leader is not
        eligible any more.

        The argument `isr` is the new ISR. If it is empty, the elected leader becomes its only
        member. The argument `alive` has the brokers that may be elected. The replicas in `unclean`
        must not be in the new ELR. The list of replicas changes if `reassigns` is true, and loses a
        replica if `removes` is true. Every change raises the partition epoch.
        """
        before = s.partition_registration
        ends, is_empty = s.ends_eligibility(isr), s.is_empty(isr)
        elr: Set[Replica] = Map(
            Replica,
            lambda r: all_of(~ends, before.elr[r] | before.isr[r], ~isr[r], ~unclean[r]),
        )
        none_eligible = is_empty & s.is_empty(elr)

        def is_candidate(r: Replica) -> Bool:
            return alive[r] & s.is_eligible(r, isr, elr, is_empty)

        def is_last_known(r: Replica) -> Bool:
            return s.is_last_known_leader(r, alive, none_eligible)

        leader = ite(
            exists(is_candidate(r) & (before.leader == r) for r in Replica),
            before.leader,
            s.first_of(is_candidate, s.first_of(is_last_known, nothing)),
        )
        leads = leader != nothing
        elected = is_empty & leads  # the new leader is then the whole ISR
        new_isr: Set[Replica] = Map(Replica, lambda r: isr[r] | (elected & (leader == r)))
        is_clean = ~leads | exists(is_candidate(r) for r in Replica)
        new_elr: Set[Replica] = Map(Replica, lambda r: all_of(elr[r], leader != r, is_clean))
        known: Set[Replica] = Map(
            Replica, lambda r: s.is_kept_as_last_known(r, new_isr, new_elr, leads)
        )
        s.write_partition_change(
            leader, new_isr, new_elr, known, reassigns=reassigns, removes=removes
        )

    def first_of(
        s, test: Callable[[Replica], Bool], default: Replica | Nothing
    ) -> Replica | Nothing:
        found: Replica | Nothing = first(Replica, test, default=Replica.least())
        return ite(exists(test(r) for r in Replica), found, default)

    def write_partition_change(
        s,
        leader: Replica | Nothing,
        isr: Set[Replica],
        elr: Set[Replica],
        last_known: Set[Replica],
        *,
        reassigns: Bool = false,
        removes: Bool = false,
    ) -> None:
        """Writes the partition's leader, ISR, ELR and last known leader at the controller.

        A new leader epoch begins if `begins_epoch` requires it, or if a replica is removed
        (`removes`).
        """
        before = s.partition_registration
        moves = before.leader != leader
        changes = any_of(
            moves, before.isr != isr, before.elr != elr, before.last_known != last_known, reassigns
        )
        for r in Replica:
            in_isr, in_elr, is_known = isr[r], elr[r], last_known[r]
            s.partition_registration.isr[r] = in_isr
            s.partition_registration.elr[r] = in_elr
            s.partition_registration.last_known[r] = is_known
            s.broker[r].is_current = s.is_still_current(r, changes)
        begins = s.begins_epoch(moves) | removes
        s.partition_registration.leader_epoch = ite(
            begins, before.leader_epoch + 1, before.leader_epoch
        )
        s.partition_registration.leader = leader

    def is_still_current(s, r: Replica, changes: Bool) -> Bool:
        """Returns True if the leader still has the controller's partition epoch after a step.
        The argument `changes` is true if the step changes the partition.
        """
        return s.broker[r].is_current & ~changes

    # ---- the operator

    @action
    def move_leader(s, r: Replica) -> None:
        """An operator moves the leadership to another member of the ISR.

        Kafka: a preferred leader election, or a reassignment of leadership.
        Simplified: any live member of the ISR may be chosen. The constant `max_disruptions` limits
        the number of moves.

        Without the guard that the new leader is in the ISR, the claim `leader_completeness` breaks
        in 9 steps.
        """
        when(
            s.partition_registration.isr[r],
            s.is_alive(r),
            s.partition_registration.leader != nothing,
            s.partition_registration.leader != r,
            s.disruptions < s.max_disruptions,
        )
        s.write_partition_change(
            r,
            s.partition_registration.isr,
            s.partition_registration.elr,
            s.partition_registration.last_known,
        )
        s.disruptions = s.disruptions + 1

    # ---- registration and fencing

    def fence(s, r: Replica) -> None:
        s.change_partition(s.remaining_isr(r), s.alive() - {r})
        s.registration[r].fenced = true

    @action
    def expire_session(s, r: Replica) -> None:
        """The controller fences a live broker whose heartbeats do not arrive. The broker does not
        know that it is fenced.

        Kafka: BrokerHeartbeatManager, ReplicationControlManager.handleBrokerFenced.
        Simplified: the constant `max_disruptions` limits the number of expired sessions.

        Every claim also holds without the guard of this action.
        """
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The controller fences a stopped broker, because the broker's session has ended.

        Kafka: ReplicationControlManager.maybeFenceOneStaleBroker.
        Simplified: each step fences one broker.

        If the controller fences several brokers at once, it may elect one of them: the claim
        `leader_is_alive_and_in_isr` breaks (bug `fences-in-batch`, 3 steps; KAFKA-13173).
        """
        when(~s.broker[r].is_up, s.is_alive(r))
        s.fence(r)

    @action
    def shut_down(s, r: Replica) -> None:
        """A broker shuts down in a controlled way: the controller fences the broker, and the broker
        then stops cleanly.

        Kafka: BrokerLifecycleManager, and the clean shutdown file.
        Simplified: the whole shutdown is one step.

        Without the guard that the broker is up, a crashed broker counts as stopped cleanly, and the
        claim `candidate_completeness` breaks in 7 steps.
        """
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.stop(r, cleanly=true)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def register(s, r: Replica) -> None:
        """A stopped broker registers with the next broker epoch. After an unclean stop, it leaves
        the ELR.

        Kafka: ClusterControlManager.registerBroker and
        ReplicationControlManager.handleBrokerShutdown.
        Simplified: the registration and the start are one step. The rule `is_unclean` decides
        whether the stop was unclean.

        Without the guard that the broker's old session has ended, the claim `leader_completeness`
        breaks in 6 steps.
        """
        when(~s.broker[r].is_up, ~s.is_alive(r))
        unclean: Set[Replica] = Map(Replica, lambda x: (x == r) & s.is_unclean(r))
        s.change_partition(s.partition_registration.isr, s.alive(), unclean)
        s.registration[r].broker_epoch = s.registration[r].broker_epoch + 1
        s.start(r)

    def start(s, r: Replica) -> None:
        s.broker[r].is_up = true
        s.broker[r].stopped_cleanly = false

    @action(fair="weak")
    def unfence(s, r: Replica) -> None:
        """The controller unfences a broker whose heartbeats arrive again. The broker may then be
        elected.

        Kafka: ReplicationControlManager.handleBrokerUnfenced.
        Simplified: the broker may be unfenced before it has caught up with the metadata.

        If the controller elects only members of the ISR and not of the ELR, the claim
        `somebody_leads` breaks (bug `elects-from-isr-only`).
        """
        when(s.broker[r].is_up, ~s.is_alive(r))
        s.change_partition(s.partition_registration.isr, s.alive() | {r})
        s.registration[r].fenced = false

    # ---- AlterPartition

    def may_be_members(s, leader: Replica) -> Bool:
        """Returns True if the controller may accept the ISR that the leader has requested.

        Every member of this ISR must be alive. A member that the request adds must not have
        registered again after the fetch by which it caught up with the leader.
        """
        asked = s.broker[leader].proposed
        return forall(
            s.is_alive(r)
            & (
                s.partition_registration.isr[r]
                | s.is_same_registration(r, s.broker[leader].proposed_broker_epoch)
            )
            for r in asked
        )

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts the leader's AlterPartition request. The leader does not know this
        yet.

        Kafka: ReplicationControlManager.alterPartition.
        Simplified: the leader learns the new ISR from the metadata, never from the response. The
        controller refuses an old partition epoch (`is_current`).

        Without the guard that the proposed replicas may be members (`may_be_members`), the claim
        `fenced_is_out_of_sync` breaks in 7 steps.
        """
        asked = s.broker[leader]
        when(
            s.presumes_leadership(leader),
            asked.is_pending,
            asked.is_current,  # the request has the present partition epoch
            s.may_be_members(leader),
        )
        s.change_partition(asked.proposed, s.alive())

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request, and the leader continues with the ISR
        that it knows.

        Kafka: ReplicationControlManager.validateAlterPartitionData answers INELIGIBLE_REPLICA;
        Partition.handleAlterPartitionError.
        Simplified: after any other error, the request remains pending.

        If a leader drops the proposed ISR after any error, the leader may commit without a member
        that the controller has added. The claim `leader_completeness` then breaks (bug
        `falls-back-on-any-refusal`, 11 steps). If the leader ignores the response, the claim
        `requests_are_answered` breaks (bug `waits-after-refusal`).
        """
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_pending,
            s.broker[leader].is_current,
            ~s.may_be_members(leader),
        )
        s.clear_request(leader)
