"""The state of a share partition: the records in flight, and what the coordinator has stored about
them.

In a *share group* (KIP-932), all members may read the same partition at the same time. The group
assigns single records to members, and not whole partitions. So one committed offset is not enough.
For each share group, the partition's leader keeps a *share partition*: a start offset, and a state
for each record at or above the start offset. The table explains each state of a record.

    NOT_FETCHED     no member got the record under this leader
    AVAILABLE       a member had the record, and any member may get it now
    ACQUIRED        one member has the record, for as long as its acquisition lock lasts
    ACKNOWLEDGED    a member has accepted the record: it is processed
    ARCHIVED        nobody gets the record again: a member has rejected it, or the last delivery
                    that the limit permits was not accepted

A member acquires a record when it fetches the record. The member answers with an *acknowledgement*:
accept, release (any member may get the record again), or reject. If the *acquisition lock* times
out before the acknowledgement, the record becomes available again. The leader counts the deliveries
of each record. When the count reaches `group.share.delivery.count.limit`, the leader archives the
record instead of making it available. A record is *final* if it is acknowledged or archived. The
*start offset* moves past final records.

Each leader writes changes of record states to the share coordinator. The share coordinator is a
broker, usually another one, and stores the changes in the topic `__share_group_state`. An
acknowledgement succeeds when its write is stored.
The leader does not write acquisitions, so the next leader delivers the record again, and counts
from the last stored count. Each write carries the epoch of its leader. When a new leader reads the
stored state, the coordinator learns the epoch of this leader, and from then on refuses the writes
of older leaders.

Source: KIP-932; Kafka 4.3: SharePartition and InFlightState of the leader, PersisterStateManager
between leader and coordinator, ShareCoordinatorShard and PersisterStateBatchCombiner of the
coordinator.
Simplified: there is one share partition, and no producer appends to its log. A batch has one
record. The coordinator never fails, and loses nothing. The spec has no clock: a lock may time out
at any moment, so a renewal of the lock (KIP-1222) changes nothing. Left out: share sessions and
their epochs, the limit of records in flight, isolation levels, and gaps of compaction. No
administrator changes the start offset, so the spec needs no state epoch.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Sort,
    Spec,
    all_of,
    any_of,
    first,
    nothing,
    true,
)


class Member(Sort):
    prefix = "m"


class Offset(Int):
    """A position in the log, or the end of the log."""


class LeaderEpoch(Int):
    """The leader epoch of the partition: the number of leader elections so far."""


class DeliveryCount(Int):
    pass


class Slot(Int):
    """A place for one write in flight. The number of slots limits the number of writes in
    flight.
    """


class Changes(Int):
    """The number of writes that have failed. The constant `max_failures` limits this number."""


class RecordState(Int):
    """The state of a record in a share group.

    If a write has the same delivery count as the stored state of its record, the coordinator keeps
    the state that is later in `labels`.
    """

    labels = ("NOT_FETCHED", "AVAILABLE", "ACQUIRED", "ACKNOWLEDGED", "ARCHIVED")


NOT_FETCHED, AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = map(RecordState, range(5))


def is_final_state(state: RecordState) -> Bool:
    return any_of(state == ACKNOWLEDGED, state == ARCHIVED)


class Outcome(Int):
    """The outcome of a record's deliveries. Only claims read this value.

    OPEN: there is no decision about the record yet.

    DECIDED: a member has accepted or rejected the record, or the leader has archived it at the
    delivery limit.

    CONFIRMED: a member has also received the answer that its decision is stored.
    """

    labels = ("OPEN", "DECIDED", "CONFIRMED")


OPEN, DECIDED, CONFIRMED = map(Outcome, range(3))


class InFlight(Record):
    """The state of a record at the leader (Kafka's class InFlightState)."""

    state: RecordState
    count: DeliveryCount
    member: Member | Nothing  # the member that has acquired the record
    previous: Member | Nothing  # the member whose acknowledgement is being written
    expired: Bool  # the lock has timed out while the acknowledgement is being written


class Stored(Record):
    """The stored state of a record at the coordinator (Kafka's class PersisterStateBatch)."""

    state: RecordState  # NOT_FETCHED means that nothing is stored
    count: DeliveryCount


class Write(Record):
    """A write in flight to the coordinator. It contains the state of one record, and the start
    offset.
    """

    sent: Bool
    leader_epoch: LeaderEpoch
    start: Offset
    offset: Offset
    state: RecordState
    count: DeliveryCount
    member: Member | Nothing  # who acknowledged the record; nothing after a timeout of the lock


class ShareGroupState(Spec):
    members: Annotated[int, range(1, 6)] = 2
    records: Annotated[int, range(1, 6)] = 2
    delivery_limit: Annotated[int, range(1, 6)] = 2
    max_leader_epoch: Annotated[int, range(6)] = 1
    writes: Annotated[int, range(1, 4)] = 1  # the limit of writes in flight
    max_failures: Annotated[int, range(6)] = 1  # the limit of writes that fail
    # the limit of records that the topic's retention deletes
    max_deleted: Annotated[int, range(6)] = 2

    # the leader
    leader_epoch: LeaderEpoch
    is_active: Bool  # false if a new leader has not read the stored state yet
    start: Offset
    record: Map[Offset, InFlight]
    log_start: Offset  # the log start of the topic partition: older records are deleted
    end_offset: Offset  # the end of the topic partition: no producer appends
    # the coordinator
    stored_epoch: LeaderEpoch
    stored_start: Offset
    stored: Map[Offset, Stored]
    # between the leader and the coordinator
    write: Map[Slot, Write]
    failures: Changes
    # a history variable, which only claims read
    outcome: Map[Offset, Outcome]

    def scope(s) -> Scope:
        return {
            Member: s.members,
            RecordState: len(RecordState.labels),
            Outcome: len(Outcome.labels),
            Offset: range(s.records + 1),
            LeaderEpoch: range(s.max_leader_epoch + 1),
            DeliveryCount: range(s.delivery_limit + 2),
            Slot: range(s.writes),
            Changes: range(s.max_failures + 1),
        }

    def init(s) -> None:
        """Sets the initial state: the log has all its records, and the leader has read the
        stored state. The leader has the start offset 0, and the state of no record.
        """
        s.end_offset = Offset(s.records)
        s.is_active = true

    def is_in_transition(s, x: Offset) -> Bool:
        """Returns True if a member's acknowledgement of the record `x` is being written."""
        return s.record[x].previous != nothing

    def is_final(s, x: Offset) -> Bool:
        """Returns True if the record `x` is acknowledged or archived, and the leader waits for no
        write that stores this final state.
        """
        return is_final_state(s.record[x].state) & ~s.is_in_transition(x)

    def is_held(s, x: Offset) -> Bool:
        """Returns True if a member has acquired the record `x`, or if an acknowledgement of the
        record is being written.
        """
        return any_of(s.record[x].state == ACQUIRED, s.is_in_transition(x))

    def may_acquire(s, x: Offset) -> Bool:
        """Returns True if the leader may deliver the record `x`, to whichever member asks first.

        If the leader delivers a record whose acknowledgement is being written, the claim
        `one_member_at_a_time` breaks (bug `acquires-in-transition`, 3 steps; KAFKA-18084). If it
        does not deliver a NOT_FETCHED record, the claim `no_record_is_skipped` breaks (bug
        `skips-gaps`, 9 steps; KAFKA-18494). Without locks, the claim `locks_are_exclusive` breaks
        (bug `locks-nothing`, 2 steps).
        """
        return all_of(
            s.start <= x,
            any_of(
                s.record[x].state == NOT_FETCHED,
                (s.record[x].state == AVAILABLE) & ~s.is_in_transition(x),
            ),
        )

    def next_fetch_offset(s) -> Offset:
        """Returns the offset of the first record that a member may acquire, or the end of the
        log if there is no such record.
        """
        return first(Offset, s.may_acquire, default=s.end_offset)

    def free_slot(s) -> Slot:
        return first(Slot, lambda w: ~s.write[w].sent, default=Slot(0))

    def has_free_slot(s) -> Bool:
        return ~s.write[s.free_slot()].sent
