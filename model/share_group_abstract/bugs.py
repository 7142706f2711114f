"""Bugs of an abstract share partition. Each class changes the spec so that a claim no longer holds.

Some bugs of the spec `share-group` break only a liveness claim. This spec does not have these bugs.
"""

from __future__ import annotations

from model.language import Bool, all_of, exists, false, true
from model.releases import UNRELEASED, kafka
from model.share_group_abstract.state import DeliveryCount, LeaderEpoch, Member, Offset, Slot
from model.share_group_abstract.versions import AbstractShareGroup
from model.variants import bug

ONE_MEMBER = {"members": 1}


@bug(
    "skips-gaps",
    breaks="no_record_is_skipped",
    steps=3,
    at=ONE_MEMBER,
    issue="KAFKA-18494",
    in_force=kafka("4.0", "4.0"),
)
class SkipsGaps(AbstractShareGroup):
    """A new leader skips a record that is not final, and that it has not delivered itself
    (KAFKA-18494).

    In Kafka, this happens if a later record is final. The old leader had delivered the skipped
    record. The action `move_start` breaks the claim `no_record_is_skipped`.
    """

    def is_passed(s, x: Offset) -> Bool:
        later = exists((x < y) & s.record[y].is_final for y in Offset)
        return super().is_passed(x) | all_of(s.record[x].count == DeliveryCount.least(), later)


@bug(
    "acquires-in-transition",
    breaks="one_member_has_a_record",
    steps=3,
    issue="KAFKA-18084",
    in_force=UNRELEASED,
)
class AcquiresInTransition(AbstractShareGroup):
    """A member acquires a record while the release of this record is still being written
    (KAFKA-18084).

    If the write fails, the member that released the record has the record again. The action
    `acquire` breaks the claim `one_member_has_a_record`.
    """

    def may_acquire(s, x: Offset) -> Bool:
        return all_of(s.start <= x, ~s.record[x].is_final, ~s.is_acquired(x))


@bug(
    "reads-without-fencing",
    breaks="acknowledgements_last",
    steps=6,
    issue="KAFKA-17796",
    in_force=UNRELEASED,
)
class ReadsWithoutFencing(AbstractShareGroup):
    """When a new leader reads the stored state, the coordinator does not store the epoch of this
    leader (KAFKA-17796).

    So the coordinator accepts a write of the old leader after this read. The new leader delivers
    the record that this write acknowledged. The action `initialize` breaks the lemma
    `leader_epochs_are_ordered`.
    """

    def epoch_after_read(s) -> LeaderEpoch:
        return s.stored_epoch


@bug(
    "available-after-the-limit",
    breaks="delivery_count_is_limited",
    steps=5,
    at=ONE_MEMBER,
    issue="KAFKA-19476",
    in_force=UNRELEASED,
)
class AvailableAfterTheLimit(AbstractShareGroup):
    """A record is available again after its acknowledgement has failed and its lock has timed out,
    even at the delivery limit.

    The first fix of KAFKA-19476 had this bug. The actions `lose_write` and `lose_answer` break the
    lemma `available_is_below_the_limit`.
    """

    def is_archived_after(s, x: Offset) -> Bool:
        return false


@bug(
    "last-write-wins",
    breaks="acknowledgements_last",
    steps=9,
    at={"members": 1, "offsets": 1, "writes": 2},
    in_force=UNRELEASED,
)
class LastWriteWins(AbstractShareGroup):
    """The coordinator stores each write, even if it has stored a larger delivery count for the
    record.

    For example, a delayed write of a delivery that timed out replaces the stored acknowledgement of
    a later delivery. The actions `persist` and `lose_answer` break the lemma `confirmed_is_stored`.
    """

    def is_newer(s, w: Slot) -> Bool:
        return true


@bug(
    "acknowledges-for-others",
    breaks="one_member_has_a_record",
    steps=2,
    in_force=UNRELEASED,
)
class AcknowledgesForOthers(AbstractShareGroup):
    """The leader accepts an acknowledgement from a member whose lock has timed out, although
    another member has acquired the record since then.

    The actions `accept` and `release` break the claim `one_member_has_a_record`.
    """

    def may_acknowledge(s, m: Member, x: Offset) -> Bool:
        return s.is_acquired(x)


@bug(
    "delivers-without-limit",
    breaks="delivery_count_is_limited",
    steps=3,
    at=ONE_MEMBER,
    in_force=UNRELEASED,
)
class DeliversWithoutLimit(AbstractShareGroup):
    """The leader never archives a record that members release or let time out.

    A record that no member can process is delivered for ever. The actions `release` and `time_out`
    break the lemma `available_is_below_the_limit`.
    """

    def is_at_limit(s, x: Offset) -> Bool:
        return false


@bug(
    "locks-nothing",
    breaks="one_member_has_a_record",
    steps=2,
    in_force=UNRELEASED,
)
class LocksNothing(AbstractShareGroup):
    """A member acquires a record that another member has acquired already.

    The action `acquire` breaks the claim `one_member_has_a_record`.
    """

    def may_acquire(s, x: Offset) -> Bool:
        return super().may_acquire(x) | all_of(s.start <= x, s.is_acquired(x))
