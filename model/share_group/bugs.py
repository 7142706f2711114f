"""Bugs of share groups. Each class changes the spec so that a claim no longer holds."""

from __future__ import annotations

from model.language import Bool, all_of, any_of, exists, false, ite, true
from model.releases import LATEST, UNRELEASED, kafka
from model.share_group.state import (
    ACQUIRED,
    AVAILABLE,
    NOT_FETCHED,
    LeaderEpoch,
    Member,
    Offset,
    RecordState,
    Slot,
)
from model.share_group.versions import MovesStartAfterWrites, ShareGroup
from model.variants import bug

ALL_IS_WELL = {"max_failures": 0, "max_deleted": 0}
ONE_RECORD = {"members": 1, "records": 1, "max_leader_epoch": 0, "max_deleted": 0}
ONE_RECORD_TWO_LEADERS = {"members": 1, "records": 1, **ALL_IS_WELL}


@bug(
    "skips-gaps",
    breaks="no_record_is_skipped",
    steps=9,
    at={"members": 1, "records": 3, "delivery_limit": 1, "writes": 2, **ALL_IS_WELL},
    issue="KAFKA-18494",
    in_force=kafka("4.0", "4.0"),
)
class SkipsGaps(ShareGroup):
    """A new leader skips a record without a stored state, if a later record has a stored state
    (KAFKA-18494).

    The old leader had delivered the skipped record, and no member had acknowledged it.
    """

    def is_gap(s, x: Offset) -> Bool:
        later = exists((x < y) & (s.record[y].state != NOT_FETCHED) for y in Offset)
        return all_of(s.record[x].state == NOT_FETCHED, later)

    def may_acquire(s, x: Offset) -> Bool:
        return super().may_acquire(x) & ~s.is_gap(x)

    def is_passed(s, x: Offset) -> Bool:
        """Returns True if the record `x` is final, or a gap above the start offset. A gap is a
        record in the state NOT_FETCHED before a record in another state.
        """
        return s.is_final(x) | ((s.start < x) & s.is_gap(x))

    def is_passed_when_read(s, x: Offset) -> Bool:
        later = exists((x < y) & (s.stored[y].state != NOT_FETCHED) for y in Offset)
        gap = all_of(s.stored_start < x, s.stored[x].state == NOT_FETCHED, later)
        return super().is_passed_when_read(x) | gap


@bug(
    "keeps-expired-lock",
    breaks="records_are_settled",
    steps=4,
    at=ONE_RECORD,
    issue="KAFKA-19476",
    in_force=kafka("4.0", "4.1"),
)
class KeepsExpiredLock(ShareGroup):
    """The leader never releases a lock whose time ends while an acknowledgement is being written,
    if this write fails (KAFKA-19476).

    The member has the record again, but no timer runs for its lock. If the member has stopped, no
    member ever gets the record.
    """

    def state_after_failure(s, x: Offset) -> RecordState:
        return ACQUIRED


@bug(
    "start-offset-waits",
    breaks="start_offset_reaches_the_end",
    steps=7,
    at=ONE_RECORD,
    in_force=kafka("4.0", LATEST, "not tried on real brokers"),
)
class StartOffsetWaits(MovesStartAfterWrites):
    """The leader looks for a new start offset only at two moments: when a write succeeds, and when
    a lock times out.

    In two other cases, the start offset remains before a final record until another write ends. In
    the first case, an acknowledgement fails after its lock has timed out, and the record is
    archived. In the second case, the topic deletes all records before the final record.
    """


@bug(
    "start-offset-is-not-stored",
    breaks="no_record_is_skipped",
    steps=2,
    at=ONE_RECORD_TWO_LEADERS,
    in_force=kafka(
        "4.2", LATEST, "with share.auto.offset.reset=latest; reproduced on real brokers"
    ),
)
class StartOffsetIsNotStored(ShareGroup):
    """The first leader chooses the end of the log as the start offset, and does not store it. As
    long as the coordinator has stored nothing, each new leader chooses again.

    The log was empty when the first leader chose. So a new leader skips all records that were
    appended since then. It also skips records that members have acquired. Real brokers do this:
    docs/findings/share-group-skips-records.md.
    """

    def start_when_read(s) -> Offset:
        """Returns the end of the log if the coordinator has stored nothing, and the stored start
        offset otherwise.

        Kafka: SharePartition.startOffsetDuringInitialization.
        """
        nothing_is_stored = all_of(
            s.stored_start == Offset(0), ~exists(s.stored[x].state != NOT_FETCHED for x in Offset)
        )
        return ite(nothing_is_stored, s.end_offset, s.stored_start)


@bug(
    "acquires-in-transition",
    breaks="one_member_at_a_time",
    steps=3,
    at=ALL_IS_WELL,
    issue="KAFKA-18084",
    in_force=UNRELEASED,
)
class AcquiresInTransition(ShareGroup):
    """A member acquires a record while the release of this record is still being written
    (KAFKA-18084).

    When the write ends, the leader removes the lock of the member that has acquired the record.
    """

    def may_acquire(s, x: Offset) -> Bool:
        fresh = any_of(s.record[x].state == NOT_FETCHED, s.record[x].state == AVAILABLE)
        return all_of(s.start <= x, x < s.end_offset, fresh)


@bug(
    "reads-without-fencing",
    breaks="acknowledgements_last",
    steps=6,
    at=ALL_IS_WELL,
    issue="KAFKA-17796",
    in_force=UNRELEASED,
)
class ReadsWithoutFencing(ShareGroup):
    """When a new leader reads the stored state, the coordinator does not store the epoch of this
    leader (KAFKA-17796).

    So the coordinator accepts a write of the old leader after this read, and the old leader answers
    its member. The new leader does not learn of the write, and delivers the record.
    """

    def epoch_after_read(s) -> LeaderEpoch:
        return s.stored_epoch


@bug(
    "available-after-the-limit",
    breaks="delivery_count_is_limited",
    steps=8,
    at=ONE_RECORD,
    issue="KAFKA-19476",
    in_force=UNRELEASED,
)
class AvailableAfterTheLimit(ShareGroup):
    """A record is available again after its acknowledgement has failed and its lock has timed out,
    even at the delivery limit.

    The first fix of KAFKA-19476 had this bug.
    """

    def state_after_failure(s, x: Offset) -> RecordState:
        return ite(s.record[x].expired, AVAILABLE, ACQUIRED)


@bug(
    "last-write-wins",
    breaks="acknowledgements_last",
    steps=9,
    at={"writes": 2, "records": 1, **ALL_IS_WELL},
    in_force=UNRELEASED,
)
class LastWriteWins(ShareGroup):
    """The coordinator stores each write, even if it has stored a larger delivery count for the
    record.

    For example, a delayed write of a delivery that timed out replaces the stored acknowledgement of
    a later delivery.
    """

    def is_newer(s, w: Slot) -> Bool:
        return true


@bug(
    "acknowledges-for-others",
    breaks="only_the_holder_acknowledges",
    steps=2,
    at=ALL_IS_WELL,
    in_force=UNRELEASED,
)
class AcknowledgesForOthers(ShareGroup):
    """The leader accepts an acknowledgement from a member whose lock has timed out, although
    another member has acquired the record since then.
    """

    def may_acknowledge(s, m: Member, x: Offset) -> Bool:
        return s.record[x].state == ACQUIRED


@bug(
    "delivers-without-limit",
    breaks="delivery_count_is_limited",
    steps=6,
    at=ALL_IS_WELL,
    in_force=UNRELEASED,
)
class DeliversWithoutLimit(ShareGroup):
    """The leader never archives a record that members release or let time out.

    A record that no member can process is delivered for ever.
    Simplified: the spec permits only one delivery of a record beyond the limit.
    """

    def is_at_limit(s, x: Offset) -> Bool:
        return false

    def may_acquire(s, x: Offset) -> Bool:
        return super().may_acquire(x) & (s.record[x].count <= s.delivery_limit)


@bug(
    "locks-nothing",
    breaks="locks_are_exclusive",
    steps=2,
    at=ALL_IS_WELL,
    in_force=UNRELEASED,
)
class LocksNothing(ShareGroup):
    """A member acquires a record that another member has acquired already."""

    def may_acquire(s, x: Offset) -> Bool:
        return super().may_acquire(x) | all_of(
            s.start <= x, s.record[x].state == ACQUIRED, s.record[x].count < s.delivery_limit
        )
