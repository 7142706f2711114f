"""The state of elections: the controller's view of a partition, and each broker's view.

A broker knows the part of the metadata log that it has applied, which may be old. A broker that
restarts registers again, and receives the next broker epoch.

Source: KIP-500, KIP-497 (AlterPartition), KIP-903 (broker epochs), KIP-966 (eligible leaders).
Simplified: the state has no partition epochs. It only records whether a leader's partition epoch
equals the controller's partition epoch (`is_current`). A broker applies all metadata at once. A
record is only an identifier, and `written_in` maps it to the leader epoch in which it was written.
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
    """A broker that has a copy of the partition. The first replica is the preferred leader."""

    prefix = "b"


class Offset(Int):
    """A position in a log, or the end of a log."""


class LeaderEpoch(Int):
    """A leader epoch. The controller begins a new epoch with each change of the leader. The
    value -1 means no epoch.
    """


class BrokerEpoch(Int):
    """A broker epoch. Each registration gives the broker the next broker epoch."""


class RecordId(Int):
    """The identifier of a record, unique among all records that are ever written."""


class Faults(Int):
    """The number of past faults of one kind. A constant such as `max_unclean` limits this
    number.
    """


class PartitionState(Record):
    """The leader, the leader epoch, the ISR and the ELR of the partition, as the controller has
    them.
    """

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    elr: Set[Replica]  # eligible leader replicas: they may be elected while the ISR is empty
    last_known: Set[Replica]  # candidates when ISR and ELR are empty


class Registration(Record):
    """A broker's registration at the controller: its broker epoch, and whether the broker is
    fenced.
    """

    broker_epoch: BrokerEpoch
    fenced: Bool


class Follower(Record):
    """The end offset and the broker epoch of a follower, as its leader has learned them in the
    present leader epoch.
    """

    end_offset: Offset  # 0 before its first fetch
    broker_epoch: BrokerEpoch


class BrokerState(Record):
    """A broker's log, and the metadata that the broker has applied."""

    is_up: Bool
    stopped_cleanly: Bool  # it has the file of a clean shutdown
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, RecordId]

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch

    # a leader's own state
    is_current: Bool  # its partition epoch equals the controller's
    isr: Set[Replica]
    follower: Map[Replica, Follower]
    is_pending: Bool  # an AlterPartition request may be unanswered
    proposed: Set[Replica]
    proposed_broker_epoch: BrokerEpoch  # the broker epoch of the proposed new member


class LateFetch(Record):
    """A fetch request that is in flight when its sender stops."""

    follower: Replica | Nothing
    end_offset: Offset
    record: RecordId  # its last record, which the fetch names by epoch
    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch


class ElectedPartition(Spec):
    replicas: Annotated[int, range(1, 6)] = 2
    min_isr: Annotated[int, range(1, 6)] = 2
    log_size: Annotated[int, range(1, 5)] = 1
    max_records: Annotated[int, range(1, 5)] = 1
    max_unclean: Annotated[int, range(5)] = 1  # stops without a clean shutdown
    max_losses: Annotated[int, range(5)] = 1  # stops that lose records
    max_disruptions: Annotated[int, range(5)] = 1  # shutdowns, planned moves, expired sessions

    partition_registration: PartitionState
    registration: Map[Replica, Registration]
    broker: Map[Replica, BrokerState]
    late_fetch: LateFetch

    next_id: RecordId
    written_in: Map[RecordId, LeaderEpoch]
    committed: Set[RecordId]  # records that were below a leader's high watermark

    unclean: Faults
    losses: Faults
    disruptions: Faults

    def scope(s) -> Scope:
        registrations = s.max_unclean + s.max_disruptions + s.max_losses
        return {
            Replica: s.replicas,
            Offset: range(s.log_size + 1),
            # each fault removes a leader, and recovery elects one
            LeaderEpoch: range(-1, 2 * registrations + 2),
            BrokerEpoch: registrations + 1,
            RecordId: range(s.max_records + 1),
            Faults: range(max(s.max_unclean, s.max_losses, s.max_disruptions) + 1),
        }

    def init(s) -> None:
        """Initially, the preferred leader leads, and the ISR has all replicas."""
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

    def is_enough(s, members: Set[Replica]) -> Bool:
        """Returns True if `members` has at least min.insync.replicas members, or has all
        replicas.
        """
        return count(members[r] for r in Replica) >= min(s.min_isr, s.replicas)

    def is_enough_for_leader(s, leader: Replica) -> Bool:
        """Returns True if the leader's ISR has at least min.insync.replicas members, or has all
        replicas. The leader uses the value of the setting that it knows.
        """
        return s.is_enough(s.broker[leader].isr)

    def copies(s) -> int:
        """Returns the least number of replicas that have a record when it becomes committed."""
        return min(s.min_isr, s.replicas)

    def published_partition(s) -> PartitionState:
        """Returns the newest state of the partition that brokers may learn. By default, it is
        the controller's state.
        """
        return s.partition_registration

    def published_registration(s, r: Replica) -> Registration:
        """Returns the newest registration of the broker `r` that brokers may learn. By default,
        this is the newest registration at the controller. In the version `controller-failover`, it
        is the committed registration.
        """
        return s.registration[r]

    def is_alive(s, r: Replica) -> Bool:
        return ~s.registration[r].fenced

    def has_log(s, r: Replica) -> Bool:
        """Returns True if the broker is up, so that it can read its log. In the version
        `log-directories`, the directory of the log must not have failed.
        """
        return s.broker[r].is_up

    def presumes_leadership(s, r: Replica) -> Bool:
        return s.broker[r].is_up & (s.broker[r].leader == r)

    def is_true_leader(s, r: Replica) -> Bool:
        """Returns True if the broker is up and considers itself the leader, and the controller
        also has this broker as leader in the same epoch.
        """
        return all_of(
            s.presumes_leadership(r),
            s.partition_registration.leader == r,
            s.broker[r].leader_epoch == s.partition_registration.leader_epoch,
        )

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
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
        """Returns the end offset of the common prefix of the logs of `follower` and `leader`."""
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
        """Returns the offset of the first record that the leader wrote in its own leader epoch.
        If there is no such record, returns the end of the leader's log.
        """
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
        return s.committed[record]
