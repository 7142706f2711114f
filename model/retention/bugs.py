"""Retention with one thing wrong: what was reported, and what it lets happen."""

from __future__ import annotations

from model.language import Bool, true
from model.retention.state import Offset, Replica
from model.retention.versions import Retention
from model.variants import LATEST, UNKNOWN, UNRELEASED, bug, kafka


@bug(
    "cleans-past-hw",
    breaks="latest_values_are_kept",
    steps=5,
    id="T13",
    issue="KAFKA-13194",
    in_force=UNKNOWN,
)
class CleansPastHighWatermark(Retention):
    """Compaction goes up to the end of the log where no transaction is open (KAFKA-13194).

    It drops a committed value for one that is not: the later record is truncated, and the key has
    no value any more. Fails latest_values_are_kept.
    """

    def cleanable_end(s, r: Replica) -> Offset:
        return s.log[r].end_offset


@bug(
    "expires-uncommitted",
    breaks="log_start_is_committed",
    steps=2,
    issue="KAFKA-5634",
    in_force=UNKNOWN,
)
class ExpiresUncommitted(Retention):
    """Retention deletes records that are not committed yet (KAFKA-5634).

    The log start gets ahead of the high watermark, and followers are told so. Fails
    log_start_is_committed.
    """

    def may_delete(s, r: Replica, end: Offset) -> Bool:
        return true


@bug(
    "leaves-mark-behind",
    breaks="log_start_is_committed",
    steps=5,
    issue="KAFKA-9491",
    in_force=UNKNOWN,
)
class LeavesMarkBehind(Retention):
    """A follower that starts anew keeps its old high watermark, below its log (KAFKA-9491).

    Once it leads, what it is asked there is out of range. Fails log_start_is_committed.
    """

    def high_watermark_after_truncation(s, r: Replica) -> Offset:
        return s.log[r].high_watermark


@bug("answers-alone", breaks="deleted_stays_deleted", steps=6, in_force=UNRELEASED)
class AnswersAlone(Retention):
    """DeleteRecords is done when the leader has deleted.

    The next leader still has the records, and gives them out again. Fails deleted_stays_deleted.
    """

    def is_deleted(s, r: Replica) -> Bool:
        return s.requested <= s.log[r].log_start


@bug("takes-leaders-start", breaks="log_starts_grow", steps=6, in_force=UNRELEASED)
class TakesLeadersStart(Retention):
    """A follower takes the log start of the leader even where its own is later.

    Its log begins with records that it has deleted. Fails log_starts_grow.
    """

    def start_after_fetch(s, r: Replica) -> Offset:
        return s.log[s.leader].log_start


@bug(
    "joins-with-old-records",
    breaks="latest_values_are_kept",
    steps=8,
    in_force=kafka(None, LATEST, "reproduced on real brokers of 4.3"),
)
class JoinsWithOldRecords(Retention):
    """A follower joins the ISR once it has reached the high watermark, whatever its log start.

    That is how the code of 3.7 reads. Where the leader has deleted the records of an epoch, it
    tells followers its log start as the end of older epochs; one that parted from it below keeps
    what was never committed until it hears of the log start. Elected before that, it gives it out.
    No report of this is known. Fails latest_values_are_kept.
    """

    def has_heard_log_start(s, r: Replica) -> Bool:
        return true
