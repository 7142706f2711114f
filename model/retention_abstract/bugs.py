"""Bugs of abstract retention. Each class changes a rule of the spec, so that a claim breaks."""

from __future__ import annotations

from model.language import Bool, forall, true
from model.releases import LATEST, UNRELEASED, kafka
from model.retention_abstract.state import Offset, Replica
from model.retention_abstract.versions import AbstractRetention
from model.variants import bug


@bug(
    "waits-for-the-live",
    breaks="deleted_stays_deleted",
    steps=6,
    in_force=kafka("4.1", LATEST, "reproduced on real brokers of 4.3"),
)
class WaitsForTheLive(AbstractRetention):
    """A DeleteRecords request waits for live replicas only. It does not wait for a replica in the
    ELR that is down.

    If the leader then stops, the replica in the ELR becomes leader. Its log still begins with the
    deleted records. The action `answer_delete_records` breaks the claim `deleted_stays_deleted`.
    """

    def is_deleted(s) -> Bool:
        """Returns True if every member of the ISR has deleted all records below the offset of the
        DeleteRecords request.

        Kafka: Partition.lowWatermarkIfLeader, which waits for the live replicas.
        Simplified: the live replicas are the members of the ISR.
        """
        return forall(s.requested <= s.log[r].log_start for r in s.isr)


@bug("answers-alone", breaks="deleted_stays_deleted", steps=5, in_force=UNRELEASED)
class AnswersAlone(AbstractRetention):
    """A DeleteRecords request succeeds when the leader has deleted the records, although other
    replicas still have the records.

    The next leader still has the records, and readers receive the records. The action
    `answer_delete_records` breaks the claim `deleted_stays_deleted`.
    """

    def is_deleted(s) -> Bool:
        return s.requested <= s.log[s.leader].log_start


@bug(
    "expires-uncommitted",
    breaks="log_start_is_committed",
    steps=2,
    issue="KAFKA-5634",
    in_force=kafka("0.8", "0.11.0.0"),
)
class ExpiresUncommitted(AbstractRetention):
    """Retention deletes records that are not committed yet (KAFKA-5634).

    The log start of the replica grows beyond its high watermark. The action `expire` breaks the
    claim `log_start_is_committed`.
    """

    def may_delete(s, r: Replica, start: Offset) -> Bool:
        return true


@bug(
    "leaves-high-watermark-behind",
    breaks="log_start_is_committed",
    steps=5,
    issue="KAFKA-9491",
    in_force=kafka(None, "2.4.0"),
)
class LeavesHighWatermarkBehind(AbstractRetention):
    """A follower that deletes its whole log retains its old high watermark, which is below its new
    log start (KAFKA-9491).

    The action `truncate_fully` breaks the claim `log_start_is_committed`.
    """

    def high_watermark_after_truncation(s, r: Replica) -> Offset:
        return s.log[r].high_watermark


@bug(
    "cleans-past-hw",
    breaks="latest_values_are_kept",
    steps=3,
    issue="KAFKA-13194",
    in_force=kafka("0.11", "3.0"),
)
class CleansPastHighWatermark(AbstractRetention):
    """Compaction reads up to the end of the log if no transaction is open, and not only up to the
    high watermark (KAFKA-13194).

    Compaction removes a record, because a later record has the same key. This later record may
    still be truncated. The action `compact` breaks the claim `latest_values_are_kept`.
    """

    def cleanable_end(s, r: Replica) -> Offset:
        return s.log[r].end_offset


@bug("takes-leaders-start", breaks="log_starts_grow", steps=6, in_force=UNRELEASED)
class TakesLeadersStart(AbstractRetention):
    """A follower adopts the leader's log start, even if the follower's own log start is larger.

    So records that the follower had deleted are above its log start again. The action `fetch`
    breaks the claim `log_starts_grow`.
    """

    def start_after_fetch(s, r: Replica) -> Offset:
        return s.log[s.leader].log_start


@bug("commits-below-min-isr", breaks="committed_records_are_kept", steps=3, in_force=UNRELEASED)
class CommitsBelowMinIsr(AbstractRetention):
    """The leader commits records while the ISR is smaller than min.insync.replicas and the ELR has
    a member.

    The member of the ELR lacks these records and may be elected. The action
    `advance_high_watermark` breaks the claim `committed_records_are_kept`.
    """

    def may_commit(s) -> Bool:
        return true
