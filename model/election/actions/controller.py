"""The actions of the controller: it keeps the ISR and the eligible leader replicas, and elects
leaders.

Every change of the partition follows the same rules. The leader stays while it is valid. Otherwise
the first live member of the ISR leads, in the order of the replica list. With an empty ISR the
first live eligible leader replica leads; after that the last known leader, by the rule of the
version. A replica is eligible (in the ELR) if it was in the ISR when that became too small, because
nothing has been committed since.

Source: Kafka's PartitionChangeBuilder and ReplicationControlManager; KIP-631, KIP-497, KIP-966.
Simplified: a controlled shutdown is one step. The controller's log is never behind, and the
controller never fails.
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
    """The controller's actions, as Kafka 4.1 has them."""

    # ---- rules that versions and bugs replace

    def remaining_isr(s, r: Replica) -> Set[Replica]:
        """Returns the ISR without this broker; the result may be empty."""
        return s.partition_registration.isr - {r}

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        """True if the ISR is large enough to commit, so that replicas outside may lack committed
        records.

        Without this rule `eligible-for-ever` fails candidate_completeness in 6 steps.
        """
        return s.is_enough(isr)

    def is_eligible(s, r: Replica, isr: Set[Replica], elr: Set[Replica], is_empty: Bool) -> Bool:
        """True for a member of the ISR, and for a member of the ELR if the ISR is empty."""
        return isr[r] | (elr[r] & is_empty)

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
        """True if no replica is eligible, dead or alive, and this live one is the last known
        leader.

        Without the check that it is alive, `elects-the-dead` fails leader_is_alive_and_in_isr
        (KAFKA-19522).
        """
        return all_of(none_eligible, s.partition_registration.last_known[r], alive[r])

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        """True for the replica that led when the ISR became empty, until a leader exists."""
        had_isr = exists(s.partition_registration.isr[x] for x in Replica)
        return ~leads & ite(
            had_isr, s.partition_registration.leader == r, s.partition_registration.last_known[r]
        )

    def is_unclean(s, r: Replica) -> Bool:
        """True if the broker did not stop cleanly in its last life.

        Kafka: the broker's previous broker epoch is missing in its registration. Without this rule
        `admits-unclean` fails leader_completeness in 9 steps (KAFKA-18635).
        """
        return ~s.broker[r].stopped_cleanly

    def begins_epoch(s, moves: Bool) -> Bool:
        """True if the leader changes, also to no leader: then a new leader epoch begins.

        Without this rule `keeps-epoch` fails one_leader_per_epoch in 2 steps.
        """
        return moves

    # ---- partition changes

    def is_empty(s, members: Set[Replica]) -> Bool:
        """True if the set has no member."""
        return forall(~members[r] for r in Replica)

    def alive(s) -> Set[Replica]:
        """Returns the brokers that are not fenced."""
        return Map(Replica, s.is_alive)

    def change_partition(
        s, isr: Set[Replica], alive: Set[Replica], unclean: Set[Replica] = NO_REPLICA
    ) -> None:
        """Builds the partition change: the new ISR and ELR, and a leader if one must be elected.

        Every change raises the partition epoch, so the leader's knowledge becomes old.
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
        s.write_partition_change(leader, new_isr, new_elr, known)

    def first_of(
        s, test: Callable[[Replica], Bool], default: Replica | Nothing
    ) -> Replica | Nothing:
        """Returns the first replica that passes the test, or the default."""
        found: Replica | Nothing = first(Replica, test, default=Replica.least())
        return ite(exists(test(r) for r in Replica), found, default)

    def write_partition_change(
        s,
        leader: Replica | Nothing,
        isr: Set[Replica],
        elr: Set[Replica],
        last_known: Set[Replica],
    ) -> None:
        """Writes leader, ISR, ELR and last known leader, and begins a leader epoch if
        `begins_epoch` holds.
        """
        before = s.partition_registration
        moves = before.leader != leader
        changes = any_of(
            moves, before.isr != isr, before.elr != elr, before.last_known != last_known
        )
        for r in Replica:
            in_isr, in_elr, is_known = isr[r], elr[r], last_known[r]
            s.partition_registration.isr[r] = in_isr
            s.partition_registration.elr[r] = in_elr
            s.partition_registration.last_known[r] = is_known
            s.broker[r].is_current = s.broker[r].is_current & ~changes
        begins = s.begins_epoch(moves)
        s.partition_registration.leader_epoch = ite(
            begins, before.leader_epoch + 1, before.leader_epoch
        )
        s.partition_registration.leader = leader

    # ---- the operator

    @action
    def move_leader(s, r: Replica) -> None:
        """An operator moves leadership to another member of the ISR.

        Kafka: a preferred leader election, or a reassignment of leadership. Simplified: any live
        member of the ISR may be chosen; `max_disruptions` bounds how often. A member of the ISR has
        every committed record, so acks=all survives; acks=1 may not (`trusts-one-ack`).
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
        """Fences a broker: it leaves the ISR, and leadership moves if it led."""
        s.change_partition(s.remaining_isr(r), s.alive() - {r})
        s.registration[r].fenced = true

    @action
    def expire_session(s, r: Replica) -> None:
        """The heartbeats of a live broker do not arrive: the controller fences it, and it does not
        know.

        Kafka: BrokerHeartbeatManager, ReplicationControlManager.handleBrokerFenced. Simplified:
        `max_disruptions` bounds how often.
        """
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The session of a stopped broker ends, and the controller fences it.

        Kafka: ReplicationControlManager.maybeFenceOneStaleBroker. Simplified: one broker per step.
        When several sessions are handled against one old state, a broker that is being fenced is
        elected: `fences-in-batch`, 3 steps (KAFKA-13173).
        """
        when(~s.broker[r].is_up, s.is_alive(r))
        s.fence(r)

    @action
    def shut_down(s, r: Replica) -> None:
        """A controlled shutdown: the broker is fenced, then stops cleanly.

        Kafka: BrokerLifecycleManager, and the clean shutdown file. Simplified: one step.
        """
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.stop(r, cleanly=true)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def register(s, r: Replica) -> None:
        """A stopped broker registers with the next broker epoch; after an unclean stop it is not
        eligible.

        Kafka: ClusterControlManager.registerBroker and
        ReplicationControlManager.handleBrokerShutdown. Simplified: registration and start
        are one step. `is_unclean` is the rule.
        """
        when(~s.broker[r].is_up, ~s.is_alive(r))
        unclean: Set[Replica] = Map(Replica, lambda x: (x == r) & s.is_unclean(r))
        s.change_partition(s.partition_registration.isr, s.alive(), unclean)
        s.registration[r].broker_epoch = s.registration[r].broker_epoch + 1
        s.broker[r].is_up = true
        s.broker[r].stopped_cleanly = false

    @action(fair="weak")
    def unfence(s, r: Replica) -> None:
        """Heartbeats arrive again: the controller unfences the broker, which may lead.

        Kafka: ReplicationControlManager.handleBrokerUnfenced. Simplified: the broker needs not
        catch up with the metadata first. If only ISR members could be elected here, no leader would
        ever exist again: `elects-from-isr-only` fails somebody_leads.
        """
        when(s.broker[r].is_up, ~s.is_alive(r))
        s.change_partition(s.partition_registration.isr, s.alive() | {r})
        s.registration[r].fenced = false

    # ---- AlterPartition

    def may_be_members(s, leader: Replica) -> Bool:
        """True if every proposed member is alive, and a new member has not restarted since its
        fetch.
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
        """The controller accepts the AlterPartition request; the leader does not know that yet.

        Kafka: ReplicationControlManager.alterPartition. Simplified: the leader learns the
        ISR from metadata, never from the answer. A request with an old partition epoch is refused
        (`is_current`).
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
        """The controller answers INELIGIBLE_REPLICA: the leader's ISR stays as it was.

        Kafka: ReplicationControlManager.validateAlterPartitionData;
        Partition.handleAlterPartitionError. Simplified: other errors leave the request pending. A
        leader that falls back after any error may commit without a member that was granted:
        `falls-back-on-any-refusal` fails leader_completeness in 11 steps. A leader that ignores the
        answer never asks again: `waits-after-refusal`.
        """
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_pending,
            s.broker[leader].is_current,
            ~s.may_be_members(leader),
        )
        s.clear_request(leader)
