"""Bugs of the retention spec. Each class changes a rule of the spec, so that a claim breaks."""

from __future__ import annotations

from model.language import Bool, forall, true
from model.releases import LATEST, UNRELEASED, kafka
from model.retention.eligible import WithElr
from model.retention.state import Offset, Replica
from model.retention.versions import Retention
from model.variants import bug


@bug(
    "cleans-past-hw",
    breaks="latest_values_are_kept",
    steps=5,
    issue="KAFKA-13194",
    in_force=kafka("0.11", "3.0"),
)
class CleansPastHighWatermark(Retention):
    """Compaction reads up to the end of the log if no transaction is open, and not only up to the
    high watermark (KAFKA-13194).

    Compaction removes a committed record, because a later record has the same key. This later
    record is not committed. If the later record is truncated, the key has no value.
    """

    def cleanable_end(s, r: Replica) -> Offset:
        return s.log[r].end_offset


@bug(
    "expires-uncommitted",
    breaks="log_start_is_committed",
    steps=2,
    issue="KAFKA-5634",
    in_force=kafka("0.8", "0.11.0.0"),
)
class ExpiresUncommitted(Retention):
    """Retention deletes records that are not committed yet (KAFKA-5634).

    The log start of the replica grows beyond its high watermark. Followers adopt this log start.
    """

    def may_delete(s, r: Replica, end: Offset) -> Bool:
        return true


@bug(
    "leaves-high-watermark-behind",
    breaks="log_start_is_committed",
    steps=5,
    issue="KAFKA-9491",
    in_force=kafka(None, "2.4.0"),
)
class LeavesHighWatermarkBehind(Retention):
    """A follower that deletes its whole log retains its old high watermark, which is below its new
    log start (KAFKA-9491).

    When this follower becomes leader, a read at the high watermark is out of range.
    """

    def high_watermark_after_truncation(s, r: Replica) -> Offset:
        return s.log[r].high_watermark


@bug("answers-alone", breaks="deleted_stays_deleted", steps=6, in_force=UNRELEASED)
class AnswersAlone(Retention):
    """A DeleteRecords request succeeds when the leader has deleted the records, although other
    replicas still have the records.

    The next leader still has the records, and readers receive the records.
    """

    def is_deleted(s, r: Replica) -> Bool:
        return s.requested <= s.log[r].log_start


@bug("takes-leaders-start", breaks="log_starts_grow", steps=6, in_force=UNRELEASED)
class TakesLeadersStart(Retention):
    """A follower adopts the leader's log start, even if the follower's own log start is larger.

    So records that the follower had deleted are above its log start again.
    """

    def start_after_fetch(s, r: Replica) -> Offset:
        return s.log[s.leader].log_start


@bug(
    "waits-for-the-live",
    breaks="deleted_stays_deleted",
    steps=7,
    in_force=kafka("4.1", LATEST, "reproduced on real brokers of 4.3"),
    fixed_by="with-elr",
)
class WaitsForTheLive(WithElr):
    """A DeleteRecords request waits for live replicas only. It does not wait for a replica in the
    ELR that is down.

    If the leader then stops, the replica in the ELR becomes leader. Its log still begins with the
    deleted records. This rule of KIP-107 was safe before Kafka had an ELR.
    """

    def is_deleted(s, r: Replica) -> Bool:
        """Returns True if every member of the ISR has deleted all records below the offset of the
        DeleteRecords request.

        Kafka: Partition.lowWatermarkIfLeader, which waits for the live replicas.
        Simplified: the live replicas are the members of the ISR.
        """
        return forall(s.requested <= s.log[x].log_start for x in s.isr)
