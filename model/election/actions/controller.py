"""The controller: who is in sync, who may lead, who leads.

Every change is settled by the same rules. The leader stays while it is valid; else the first live
member of the ISR in the order of the replicas leads; else, with the ISR empty, the first live
eligible leader; else whoever the version's last resort names. Eligible (the ELR) are those that
were in sync when the ISR became too small, as nothing has been committed since.

Source: Kafka's PartitionChangeBuilder and ReplicationControlManager; KIP-631, KIP-497, KIP-966.
Simplified: a controlled shutdown is one step; the controller's log is never behind.
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

NOBODY: Set[Replica] = Map(Replica, lambda _: false)


class Controller(Brokers):
    """What the controller does, as it was shipped with Kafka 4.1."""

    # ---- the rules that versions differ in

    def remaining_isr(s, r: Replica) -> Set[Replica]:
        """The ISR without a broker that is gone; it may become empty."""
        return s.partition_registration.isr - {r}

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        """With an ISR that is large enough to commit, nobody outside has all of it any more."""
        return s.is_enough(isr)

    def is_eligible(s, r: Replica, isr: Set[Replica], elr: Set[Replica], is_empty: Bool) -> Bool:
        """A member of the ISR, or of the ELR where the ISR is empty."""
        return isr[r] | (elr[r] & is_empty)

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        """With nobody eligible, dead or alive, the last known leader leads with what it has."""
        return all_of(is_nobody, s.partition_registration.last_known[r], alive[r])

    def is_remembered(s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool) -> Bool:
        """Who led when the ISR became empty, until somebody leads."""
        had_isr = exists(s.partition_registration.isr[x] for x in Replica)
        return ~leads & ite(
            had_isr, s.partition_registration.leader == r, s.partition_registration.last_known[r]
        )

    def is_unclean(s, r: Replica) -> Bool:
        """The broker brings no broker epoch from a clean shutdown of its last life."""
        return ~s.broker[r].stopped_cleanly

    def begins_epoch(s, moves: Bool) -> Bool:
        """Every change of the leader begins a leader epoch, one to nobody too."""
        return moves

    # ---- what every change does

    def is_nobody(s, members: Set[Replica]) -> Bool:
        return forall(~members[r] for r in Replica)

    def alive(s) -> Set[Replica]:
        return Map(Replica, s.is_alive)

    def settle(s, isr: Set[Replica], alive: Set[Replica], unclean: Set[Replica] = NOBODY) -> None:
        """Elects if it must, and writes what changes.

        Any change makes what the leader knows an older partition epoch.
        """
        before = s.partition_registration
        ends, is_empty = s.ends_eligibility(isr), s.is_nobody(isr)
        elr: Set[Replica] = Map(
            Replica,
            lambda r: all_of(~ends, before.elr[r] | before.isr[r], ~isr[r], ~unclean[r]),
        )
        is_nobody = is_empty & s.is_nobody(elr)

        def is_candidate(r: Replica) -> Bool:
            return alive[r] & s.is_eligible(r, isr, elr, is_empty)

        def is_resort(r: Replica) -> Bool:
            return s.is_last_resort(r, alive, is_nobody)

        leader = ite(
            exists(is_candidate(r) & (before.leader == r) for r in Replica),
            before.leader,
            s.first_of(is_candidate, s.first_of(is_resort, nothing)),
        )
        leads = leader != nothing
        elected = is_empty & leads  # such a leader is all of the ISR
        settled_isr: Set[Replica] = Map(Replica, lambda r: isr[r] | (elected & (leader == r)))
        is_clean = ~leads | exists(is_candidate(r) for r in Replica)
        settled_elr: Set[Replica] = Map(Replica, lambda r: all_of(elr[r], leader != r, is_clean))
        known: Set[Replica] = Map(
            Replica, lambda r: s.is_remembered(r, settled_isr, settled_elr, leads)
        )
        s.decide(leader, settled_isr, settled_elr, known)

    def first_of(
        s, test: Callable[[Replica], Bool], default: Replica | Nothing
    ) -> Replica | Nothing:
        """The first replica of which it is true."""
        found: Replica | Nothing = first(Replica, test, default=Replica.least())
        return ite(exists(test(r) for r in Replica), found, default)

    def decide(
        s,
        leader: Replica | Nothing,
        isr: Set[Replica],
        elr: Set[Replica],
        last_known: Set[Replica],
    ) -> None:
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

    # ---- an operator

    @action
    def move_leader(s, r: Replica) -> None:
        """A planned move: another member of the ISR leads."""
        when(
            s.partition_registration.isr[r],
            s.is_alive(r),
            s.partition_registration.leader != nothing,
            s.partition_registration.leader != r,
            s.disruptions < s.max_disruptions,
        )
        s.decide(
            r,
            s.partition_registration.isr,
            s.partition_registration.elr,
            s.partition_registration.last_known,
        )
        s.disruptions = s.disruptions + 1

    # ---- brokers come and go

    def fence(s, r: Replica) -> None:
        s.settle(s.remaining_isr(r), s.alive() - {r})
        s.registration[r].fenced = true

    @action
    def expire_session(s, r: Replica) -> None:
        """The heartbeats of a live broker do not arrive: it is fenced, and does not know."""
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def detect_crash(s, r: Replica) -> None:
        """The session of a broker that is down ends."""
        when(~s.broker[r].is_up, s.is_alive(r))
        s.fence(r)

    @action
    def shut_down(s, r: Replica) -> None:
        """A controlled shutdown: the broker is fenced, then stops cleanly."""
        when(s.broker[r].is_up, s.is_alive(r), s.disruptions < s.max_disruptions)
        s.fence(r)
        s.stop(r, cleanly=true)
        s.disruptions = s.disruptions + 1

    @action(fair="weak")
    def register(s, r: Replica) -> None:
        """A broker that was down takes a new broker epoch; an unclean one is eligible no more."""
        when(~s.broker[r].is_up, ~s.is_alive(r))
        unclean: Set[Replica] = Map(Replica, lambda x: (x == r) & s.is_unclean(r))
        s.settle(s.partition_registration.isr, s.alive(), unclean)
        s.registration[r].broker_epoch = s.registration[r].broker_epoch + 1
        s.broker[r].is_up = true
        s.broker[r].stopped_cleanly = false

    @action(fair="weak")
    def unfence(s, r: Replica) -> None:
        """Heartbeats arrive again: the broker may lead."""
        when(s.broker[r].is_up, ~s.is_alive(r))
        s.settle(s.partition_registration.isr, s.alive() | {r})
        s.registration[r].fenced = false

    # ---- AlterPartition

    def may_be_members(s, leader: Replica) -> Bool:
        """Every proposed member is alive, and a new one is who it was when it fetched."""
        asked = s.broker[leader].proposed
        return forall(
            s.is_alive(r)
            & (s.partition_registration.isr[r] | s.is_same_life(r, s.broker[leader].stamp))
            for r in asked
        )

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller writes the ISR that was asked for; the leader does not know yet."""
        asked = s.broker[leader]
        when(
            s.presumes_leadership(leader),
            asked.is_pending,
            asked.is_current,  # no older partition epoch
            s.may_be_members(leader),
        )
        s.settle(asked.proposed, s.alive())

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller answers INELIGIBLE_REPLICA: the ISR stays what the leader knows."""
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_pending,
            s.broker[leader].is_current,
            ~s.may_be_members(leader),
        )
        s.settle_request(leader)
