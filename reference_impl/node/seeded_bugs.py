"""The table of seeded bugs: what each changes, what that breaks, and who must notice.

What `breaks` names are claims of the catalogue or anomalies of the history analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reference_impl.node.bugs import (
    LOST_EVERY,
    REORDERED_BY,
    REORDERED_EVERY,
    STALE_EVERY,
    ZERO_OFFSET_EVERY,
    Bug,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededBug:
    """One row: what is wrong, what that breaks, what notices, and who had it."""

    bug: Bug
    changes: str
    breaks: tuple[str, ...]
    caught_by: tuple[str, ...]
    source: str

    @property
    def name(self) -> str:
        return self.bug.value


SEEDED_BUGS: Final = (
    SeededBug(
        bug=Bug.NO_DEDUP,
        changes="A leader appends every batch, whatever its producer id and sequence number.",
        breaks=(
            "transactional_implies_idempotent",
            "exactly_once_publish",
            "append_order",
            "duplicate",
        ),
        caught_by=("suite transactions", "suite replication", "history analysis"),
        source="redpanda#3039; anomalies M1",
    ),
    SeededBug(
        bug=Bug.DEDUP_LOST_ON_FAILOVER,
        changes="Followers keep no producer state, so that a new leader knows no sequence number.",
        breaks=("exactly_once_publish", "duplicate"),
        caught_by=("suite replication", "history analysis"),
        source="redpanda#5355; anomalies M2",
    ),
    SeededBug(
        bug=Bug.PRODUCERS_GO_WITH_RECORDS,
        changes="A producer whose records are all deleted is forgotten, as before Kafka 2.4.",
        breaks=("exactly_once_publish", "duplicate"),
        caught_by=("transcripts of producers", "model idempotence, variant kip-98"),
        source="KIP-360 (KAFKA-7190); bugs I2",
    ),
    SeededBug(
        bug=Bug.DELETES_UNCOMMITTED,
        changes="Retention deletes segments above the high watermark.",
        breaks=("committed_survives", "lost-write"),
        caught_by=("transcripts of retention", "model retention, variant expires-uncommitted"),
        source="KAFKA-5634",
    ),
    SeededBug(
        bug=Bug.DELETION_ANSWERED_ALONE,
        changes="DeleteRecords is answered as soon as the leader has deleted.",
        breaks=("offset_identifies",),
        caught_by=("transcripts of retention", "model retention, variant answers-alone"),
        source="KIP-107",
    ),
    SeededBug(
        bug=Bug.MARK_LEFT_BEHIND,
        changes="A follower that starts anew keeps its high watermark, below its log.",
        breaks=("reads_are_committed",),
        caught_by=("transcripts of retention", "model retention, variant leaves-mark-behind"),
        source="KAFKA-9491",
    ),
    SeededBug(
        bug=Bug.DEAD_LEADER_RETURNS,
        changes="The last known leader is elected whether or not it lives.",
        breaks=("wait_for_last_leader",),
        caught_by=("transcripts of elections", "model election, variant elects-the-dead"),
        source="KAFKA-19522; bugs R12",
    ),
    SeededBug(
        bug=Bug.UNCLEAN_SHUTDOWN_UNNOTICED,
        changes="A broker that may have lost the end of its logs stays eligible to lead.",
        breaks=("committed_survives", "clean_election", "lost-write"),
        caught_by=("transcripts of elections", "model election, variant admits-unclean"),
        source="KAFKA-18635; bugs R13",
    ),
    SeededBug(
        bug=Bug.TRUNCATE_TO_HIGH_WATERMARK,
        changes="A follower of a new leader epoch cuts its log to its own high watermark, asks "
        "nobody where the logs part, and tells no last fetched epoch.",
        breaks=("committed_survives", "exactly_once_publish", "inconsistent-offsets", "lost-write"),
        caught_by=("suite replication", "model replication, variant truncate-to-hw"),
        source="KIP-101 (KAFKA-1211); anomalies M5",
    ),
    SeededBug(
        bug=Bug.ACK_BEFORE_REPLICATION,
        changes="A leader acknowledges acks=all as soon as the record is in its own log.",
        breaks=("committed_survives", "exactly_once_publish", "lost-write"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0; anomalies M4",
    ),
    SeededBug(
        bug=Bug.READ_ABOVE_HIGH_WATERMARK,
        changes="A consumer is given everything up to the end of the leader's log.",
        breaks=("reads_are_committed", "inconsistent-offsets"),
        caught_by=("suite replication", "history analysis"),
        source="KAFKA-9835; anomalies M16",
    ),
    SeededBug(
        bug=Bug.STALE_END_OFFSET,
        changes=f"Every {STALE_EVERY}rd answer to ListOffsets(latest) tells one offset less.",
        breaks=("linearizable_offsets", "stale-end-offset"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen's realtime lag; anomalies M20",
    ),
    SeededBug(
        bug=Bug.ZERO_OFFSET_ACK,
        changes=f"Every {ZERO_OFFSET_EVERY}th acknowledgement says offset 0.",
        breaks=("offset_identifies", "inconsistent-offsets"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0; anomalies M15",
    ),
    SeededBug(
        bug=Bug.REORDERED_ACK_OFFSET,
        changes=f"Every {REORDERED_EVERY}th acknowledgement tells an offset {REORDERED_BY} too low:"
        " below one that was acknowledged before the send began.",
        breaks=(
            "linearizable_offsets",
            "offset_identifies",
            "offset-order-inversion",
            "inconsistent-offsets",
        ),
        caught_by=("suite replication", "history analysis"),
        source="linearizable offsets, D3",
    ),
    SeededBug(
        bug=Bug.LOST_APPEND,
        changes=f"Every {LOST_EVERY}th append is acknowledged, not kept; its offset stays empty.",
        breaks=("committed_survives", "lost-write"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0 (lost acknowledged writes in healthy clusters)",
    ),
    SeededBug(
        bug=Bug.MINIMUM_IGNORED,
        changes="A leader takes acks=all and moves its high watermark however few are in sync.",
        breaks=("committed_definition", "min_isr_refuses", "committed_survives", "lost-write"),
        caught_by=("suite elections",),
        source="KIP-966: the high watermark below min.insync.replicas, as before Kafka 3.7",
    ),
    SeededBug(
        bug=Bug.LAST_STABLE_OFFSET_READ,
        changes="A read_committed fetch ends at the last stable offset, and includes it.",
        breaks=("read_committed_waits", "atomic_commit", "G1a", "open-transaction-read"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="redpanda#3036; anomalies M6",
    ),
    SeededBug(
        bug=Bug.ABORTED_NOT_TOLD,
        changes="A read_committed fetch names no aborted transactions.",
        breaks=("atomic_commit", "G1a"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="redpanda#7819; anomalies M7",
    ),
    SeededBug(
        bug=Bug.UNREPLICATED_MARKER_COUNTS,
        changes="The last stable offset passes a transaction whose marker is not yet replicated.",
        breaks=("read_committed_waits", "stale-end-offset"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="KAFKA-5121; bugs T12",
    ),
    SeededBug(
        bug=Bug.COMPACTS_UNCOMMITTED,
        changes="Where no transaction is open compaction passes the high watermark.",
        breaks=("committed_survives", "lost-write"),
        caught_by=(
            "transcripts of compaction",
            "model retention, variant cleans-past-hw",
        ),
        source="KAFKA-13194; bugs T13",
    ),
    SeededBug(
        bug=Bug.GUARD_OUTLIVES_MARKER,
        changes="A batch that was verified is appended though a marker came in between.",
        breaks=("timeout_aborts", "atomic_commit", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactions",
            "model transactions, variant keeps-guard",
            "history analysis",
        ),
        source="KAFKA-14884; bugs T3",
    ),
    SeededBug(
        bug=Bug.LATE_MARKER_ACCEPTED,
        changes="A V2 marker with the epoch of the open transaction ends it.",
        breaks=("atomic_commit", "torn-transaction"),
        caught_by=(
            "suite transactions",
            "transcripts of transactions",
            "model transactions-abstract, variant lax-markers",
            "history analysis",
        ),
        source="KAFKA-19446, KIP-1228; bugs T20",
    ),
    SeededBug(
        bug=Bug.MARKER_ON_ONE_PARTITION,
        changes="A coordinator writes a marker to one topic partition of each transaction alone.",
        breaks=("atomic_commit", "torn-transaction", "unseen"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="anomalies M11",
    ),
    SeededBug(
        bug=Bug.ZOMBIE_NOT_FENCED,
        changes="A new instance of a transactional id is given the epoch of the old one.",
        breaks=("retry_resumes", "exactly_once_pipeline", "zombie-write"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="anomalies M12",
    ),
    SeededBug(
        bug=Bug.FAILED_FENCE_COUNTS,
        changes="A coordinator raises the epoch of an open transaction before its log has it: "
        "every new instance whose fence fails takes one more.",
        breaks=("retry_resumes",),
        caught_by=(
            "transcripts of transactional ids",
            "model transactions, variant forgets-failed-fence",
        ),
        source="KAFKA-9666; bugs T9",
    ),
    SeededBug(
        bug=Bug.DELAYED_END_ACCEPTED,
        changes="An EndTxn of an older producer epoch ends the transaction that is open now.",
        breaks=("atomic_commit", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactional ids",
            "model transactions, variant verification",
            "history analysis",
        ),
        source="KAFKA-17754; anomalies M8, M9",
    ),
    SeededBug(
        bug=Bug.LATE_PRODUCE_ACCEPTED,
        changes="A leader does not ask whether a transaction is open: a batch that comes behind "
        "the marker opens one that nobody will end.",
        breaks=("timeout_aborts", "read_committed_waits", "unseen", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactional ids",
            "model transactions-abstract, variant v1",
            "history analysis",
        ),
        source="KIP-890, KAFKA-14402; bugs T1, anomalies M10",
    ),
    SeededBug(
        bug=Bug.OFFSETS_DESPITE_ABORT,
        changes="The offsets of an aborted transaction count.",
        breaks=(
            "exactly_once_pipeline",
            "offsets_in_transaction",
            "aborted-offset-read",
            "input-skipped",
        ),
        caught_by=(
            "suite transactions",
            "suite delivery",
            "transcripts of groups",
            "history analysis",
        ),
        source="anomalies M13",
    ),
    SeededBug(
        bug=Bug.OFFSETS_LOST_AT_COMMIT,
        changes="The offsets of a committed transaction are dropped.",
        breaks=(
            "exactly_once_pipeline",
            "offsets_in_transaction",
            "input-processed-twice",
            "stale-group-offset",
        ),
        caught_by=(
            "suite transactions",
            "suite delivery",
            "transcripts of groups",
            "history analysis",
        ),
        source="anomalies M14",
    ),
    SeededBug(
        bug=Bug.GENERATION_NOT_CHECKED,
        changes="Offsets in a transaction are taken from members of any generation.",
        breaks=("exactly_once_pipeline", "input-processed-twice"),
        caught_by=("suite delivery", "transcripts of groups"),
        source="KIP-447; bugs T15",
    ),
    SeededBug(
        bug=Bug.PARTITION_EPOCH_ERASED,
        changes="A partition that a member was giving up, and is given again, has no owner on the "
        "books of a KIP-848 group: another member gets it too.",
        breaks=("one_owner",),
        caught_by=(
            "suite groups",
            "transcripts of groups",
            "model consumer-group, variant erases-what-comes-back",
        ),
        source="KAFKA-16147; bugs G1",
    ),
    SeededBug(
        bug=Bug.REJOIN_REFUSED,
        changes="A fenced member that a KIP-848 group still knows may not join with epoch 0.",
        breaks=("position_resumes",),
        caught_by=("transcripts of groups", "model consumer-group, variant refuses-return"),
        source="KAFKA-19233; bugs G2",
    ),
    SeededBug(
        bug=Bug.EMPTY_GROUP_UNSETTLED,
        changes="When the last member is fenced the group epoch grows, the assignment epoch not.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model consumer-group, variant leaves-empty-group-open",
        ),
        source="KAFKA-20442; bugs G3",
    ),
    SeededBug(
        bug=Bug.EXACT_EPOCH_WANTED,
        changes="An owner's commit is refused when it has not heard of its newest epoch yet.",
        breaks=("position_resumes",),
        caught_by=("transcripts of groups", "model consumer-group, variant wants-exact-epoch"),
        source="KIP-1251, KAFKA-20066; bugs G4",
    ),
    SeededBug(
        bug=Bug.STATIC_REPLACED_WHEN_STABLE,
        changes="During a rebalance a new process of a static member does not take the place of "
        "the old one: both are members.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model classic-group, variant adds-instances",
        ),
        source="KAFKA-8500; bugs G6",
    ),
    SeededBug(
        bug=Bug.STATIC_REPLACEMENT_NOT_KEPT,
        changes="That a new process has taken the place of a static member is not in the log.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model classic-group, variant forgets-replacement",
        ),
        source="KAFKA-10284; bugs G6",
    ),
    SeededBug(
        bug=Bug.OFFSETS_EXPIRE_WHILE_ALIVE,
        changes="Offsets are forgotten some time after their commit, whoever is a member.",
        breaks=("position_resumes", "retention_loses"),
        caught_by=(
            "transcripts of groups",
            "model group-offsets, variant expires-in-rebalance",
        ),
        source="KAFKA-13636, KAFKA-8069; bugs G7",
    ),
    SeededBug(
        bug=Bug.OFFSETS_DROPPED_WITH_GROUP,
        changes="A new coordinator drops all offsets of a group that was forgotten once, those "
        "that were committed later too.",
        breaks=("position_resumes",),
        caught_by=(
            "transcripts of groups",
            "model group-offsets, variant drops-deleted-groups",
        ),
        source="KAFKA-4704; bugs G8",
    ),
)
