"""The state of an abstract share partition: its leader, the share coordinator, and the locks.

The leader delivers each record to one member at a time, and counts the deliveries. A member accepts
the record or gives it back. The leader writes the new state to the share coordinator, and moves its
start offset past final records. A new leader reads the state that the coordinator has stored. The
state of the spec `share-group` explains the terms.

A record is *final* if a member has accepted or rejected it, or if the leader has archived it at the
limit of deliveries. A record is available if it is not final and no member has it.

Source: KIP-932; SharePartition, PersisterStateManager and ShareCoordinatorShard of Kafka 4.3.
Simplified: there is one share partition. A batch has one record. The log has a record at every
offset, and members may acquire the records in any order. A lock may time out at any moment, and any
write may fail. The coordinator never fails. From the beginning, it has a start offset, which Kafka
4.3 stores later (docs/findings/share-group-skips-records.md). An old leader delivers no more
records, and accepts no more acknowledgements. The spec contains no share sessions, no limit of
records in flight, no transactions, and no administrator who changes the start offset.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    all_of,
    any_of,
    nothing,
    true,
    when,
)


class Member(Sort):
    prefix = "m"


class Offset(Ordered):
    """A position in the log."""


class LeaderEpoch(Ordered):
    """The leader epoch of the partition. Each election begins a new leader epoch."""


class DeliveryCount(Ordered):
    pass


class Slot(Sort):
    """A place for one write in flight."""

    prefix = "w"


class InFlight(Record):
    """The state of a record at the leader (Kafka's class InFlightState)."""

    is_final: Bool
    count: DeliveryCount
    member: Member | Nothing  # the member that has acquired the record
    previous: Member | Nothing  # the member whose acknowledgement is being written
    expired: Bool  # the lock has timed out while the acknowledgement is being written


class Stored(Record):
    """The stored state of a record at the coordinator (Kafka's class PersisterStateBatch)."""

    is_final: Bool
    count: DeliveryCount  # the smallest count means that nothing is stored


class Write(Record):
    """A write in flight to the coordinator. It contains the state of one record, and the start
    offset.
    """

    sent: Bool
    leader_epoch: LeaderEpoch
    start: Offset
    offset: Offset
    is_final: Bool
    count: DeliveryCount
    member: Member | Nothing  # who acknowledged the record; nothing after a timeout of the lock


class AbstractShareGroupState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    offsets: Annotated[int, range(1, 10)] = 2
    leader_epochs: Annotated[int, range(1, 10)] = 2
    counts: Annotated[int, range(2, 10)] = 3
    writes: Annotated[int, range(1, 10)] = 1  # the limit of writes in flight

    limit: DeliveryCount  # group.share.delivery.count.limit; never changes
    log_start: Offset  # the log start of the topic partition: older records are deleted

    # the leader
    leader_epoch: LeaderEpoch
    is_active: Bool  # false if a new leader has not read the stored state yet
    start: Offset
    record: Map[Offset, InFlight]

    # the members
    holds: Map[Member, Set[Offset]]  # the present leader has given the member a lock on the record

    # the coordinator
    stored_epoch: LeaderEpoch
    stored_start: Offset
    stored: Map[Offset, Stored]

    # between the leader and the coordinator
    write: Map[Slot, Write]

    # history variables, which only claims read
    decided: Set[Offset]  # a member has accepted or rejected the record, or it reached the limit
    confirmed: Set[Offset]  # a member has received the answer that its accept or reject is stored
    largest_start: Offset  # the largest start offset that was ever stored

    def scope(s) -> Scope:
        return {
            Member: s.members,
            Offset: s.offsets,
            LeaderEpoch: s.leader_epochs,
            DeliveryCount: s.counts,
            Slot: s.writes,
        }

    def init(s, limit: DeliveryCount) -> None:
        """Sets the initial state: nothing is stored, and the leader has read this empty state.

        The delivery limit `limit` permits at least one delivery of each record.
        """
        when(DeliveryCount.least() < limit)
        s.limit = limit
        s.is_active = true

    # ---- predicates

    def is_acquired(s, x: Offset) -> Bool:
        """Returns True if the leader has given the record `x` to a member, and the acquisition
        lock has not ended.
        """
        return s.record[x].member != nothing

    def is_in_transition(s, x: Offset) -> Bool:
        """Returns True if a member's acknowledgement of the record `x` is being written."""
        return s.record[x].previous != nothing

    def is_held(s, x: Offset) -> Bool:
        """Returns True if a member has acquired the record `x`, or if an acknowledgement of the
        record is being written.
        """
        return any_of(s.is_acquired(x), s.is_in_transition(x))

    def has(s, m: Member, x: Offset) -> Bool:
        """Returns True if the member `m` has a lock on the record `x`, or if its acknowledgement
        of the record is being written.
        """
        return any_of(s.holds[m][x], s.record[x].previous == m)

    def may_acquire(s, x: Offset) -> Bool:
        """Returns True if the leader may deliver the record `x` to any member.

        If the leader delivers a record whose acknowledgement is being written, the claim
        `one_member_has_a_record` breaks (bug `acquires-in-transition`, 3 steps; KAFKA-18084).
        Without locks, the claim `one_member_has_a_record` breaks (bug `locks-nothing`, 2 steps).
        """
        return all_of(s.start <= x, ~s.record[x].is_final, ~s.is_held(x))

    def is_from_leader(s, w: Slot) -> Bool:
        return s.write[w].leader_epoch == s.leader_epoch
