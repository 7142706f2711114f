"""One partition as its controller and its brokers know it, through elections and crashes.

The controller's word is the truth; a broker knows what it has applied of the metadata log, and may
be late. A broker that restarts is a new one to the controller: it registers, and takes the next
broker epoch.

Source: KIP-500, KIP-497 (AlterPartition), KIP-903 (broker epochs), KIP-966 (eligible leaders).
Simplified: partition epochs are only ever compared with the controller's, so kept is whether they
are equal (`is_current`). A broker that applies metadata applies all of it. Records hold their
identity; the epoch in which each was written is kept once for all (`written_in`).
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Spec,
    all_of,
    any_of,
    count,
    everything,
    exists,
    first,
    forall,
    implies,
    true,
)


class Replica(Ordered):
    """A broker that keeps a copy; their order is that of the replica list, the preferred first."""

    prefix = "b"


class Offset(Int):
    """A position in a log, or the end of one."""


class LeaderEpoch(Int):
    """Counts the controller's decisions on who leads; -1 for a broker that has heard of none."""


class BrokerEpoch(Int):
    """Counts the registrations of a broker."""


class RecordId(Int):
    """Tells every record ever written from every other."""


class Faults(Int):
    """How many of a budget have happened."""


class PartitionState(Record):
    """What the controller has decided."""

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    elr: Set[Replica]  # left the ISR when it was too small for anything to be committed since
    last_known: Set[Replica]  # to ask when both are empty


class Registration(Record):
    """What the controller knows of a broker."""

    broker_epoch: BrokerEpoch
    fenced: Bool


class Follower(Record):
    """What a leader knows of a follower, from its fetches in this leader epoch."""

    end_offset: Offset  # 0 before the first
    broker_epoch: BrokerEpoch


class BrokerState(Record):
    """A broker's log, and what it has applied of the metadata."""

    is_up: Bool
    stopped_cleanly: Bool  # the file that a clean shutdown leaves behind
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, RecordId]

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch

    # of a leader
    is_current: Bool  # its partition epoch is the controller's
    isr: Set[Replica]
    follower: Map[Replica, Follower]
    is_pending: Bool  # an AlterPartition request is not known to be answered
    proposed: Set[Replica]
    stamp: BrokerEpoch  # of the member that it adds


class LateFetch(Record):
    """A fetch request that is under way when its sender stops."""

    follower: Replica | Nothing
    end_offset: Offset
    record: RecordId  # its last; the epoch of it is what is sent
    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch


class ElectedPartition(Spec):
    """The state, and the words for it."""

    replicas: Annotated[int, range(1, 6)] = 2
    min_isr: Annotated[int, range(1, 6)] = 2
    log_size: Annotated[int, range(1, 5)] = 1
    max_records: Annotated[int, range(1, 5)] = 1
    max_unclean: Annotated[int, range(5)] = 1  # crashes without a clean shutdown, lossy or not
    max_losses: Annotated[int, range(5)] = 1  # of them, those that lose records
    max_disruptions: Annotated[int, range(5)] = 1  # shutdowns, planned moves, sessions that expire

    partition_registration: PartitionState
    registration: Map[Replica, Registration]
    broker: Map[Replica, BrokerState]
    late_fetch: LateFetch

    next_id: RecordId
    written_in: Map[RecordId, LeaderEpoch]
    committed: Set[RecordId]  # ever below the high watermark of whoever led: read, acknowledged

    unclean: Faults
    losses: Faults
    disruptions: Faults

    def scope(s) -> Scope:
        registrations = s.max_unclean + s.max_disruptions + s.max_losses
        return {
            Replica: s.replicas,
            Offset: range(s.log_size + 1),
            # a fault takes a leader away and recovery elects one
            LeaderEpoch: range(-1, 2 * registrations + 2),
            BrokerEpoch: registrations + 1,
            RecordId: range(s.max_records + 1),
            Faults: range(max(s.max_unclean, s.max_losses, s.max_disruptions) + 1),
        }

    def init(s) -> None:
        """The preferred replica leads, and all are in sync."""
        preferred = Replica.least()
        s.partition_registration.leader = preferred
        s.partition_registration.leader_epoch = LeaderEpoch(0)
        s.partition_registration.isr = everything(Replica)
        for r in Replica:
            s.broker[r].is_up = true
            s.broker[r].leader = preferred
            s.broker[r].leader_epoch = LeaderEpoch(0)
        s.broker[preferred].is_current = true
        s.broker[preferred].isr = everything(Replica)

    # ---- words

    def is_enough(s, members: Set[Replica]) -> Bool:
        """As many as min.insync.replicas asks for, the leader among them."""
        return count(members[r] for r in Replica) >= min(s.min_isr, s.replicas)

    def is_alive(s, r: Replica) -> Bool:
        """The controller takes the broker for running."""
        return ~s.registration[r].fenced

    def presumes_leadership(s, r: Replica) -> Bool:
        return s.broker[r].is_up & (s.broker[r].leader == r)

    def is_true_leader(s, r: Replica) -> Bool:
        return all_of(
            s.presumes_leadership(r),
            s.partition_registration.leader == r,
            s.broker[r].leader_epoch == s.partition_registration.leader_epoch,
        )

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
        """Both are up and in the same leader epoch."""
        return all_of(
            follower != leader,
            s.broker[follower].is_up,
            s.presumes_leadership(leader),
            s.broker[follower].leader == leader,
            s.broker[follower].leader_epoch == s.broker[leader].leader_epoch,
        )

    def has_offset(s, r: Replica, offset: Offset) -> Bool:
        return offset < s.broker[r].end_offset

    def has_record(s, r: Replica, record: RecordId) -> Bool:
        return exists(
            s.has_offset(r, offset) & (s.broker[r].record[offset] == record) for offset in Offset
        )

    def shared_end(s, follower: Replica, leader: Replica) -> Offset:
        """Where the follower's log begins to differ from the leader's."""
        ours, theirs = s.broker[follower], s.broker[leader]
        return first(
            Offset,
            lambda offset: any_of(
                ~s.has_offset(follower, offset),
                ~s.has_offset(leader, offset),
                ours.record[offset] != theirs.record[offset],
            ),
            default=ours.end_offset,
        )

    def start_offset(s, leader: Replica) -> Offset:
        """Where the records of the leader's own epoch begin."""
        log = s.broker[leader]
        return first(
            Offset,
            lambda offset: any_of(
                ~s.has_offset(leader, offset),
                s.written_in[log.record[offset]] == log.leader_epoch,
            ),
            default=log.end_offset,
        )

    def has_all_committed(s, r: Replica) -> Bool:
        return forall(implies(s.is_committed(x), s.has_record(r, x)) for x in RecordId)

    def is_committed(s, record: RecordId) -> Bool:
        """What producers and consumers may rely on."""
        return s.committed[record]
