"""The table of seeded bugs. It describes what each bug changes, what the bug breaks, and which
checks must find the bug.

The field `breaks` names claims of the claim catalogue, or anomalies that the analysis of histories
detects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.releases import LATEST, UNRELEASED, InForce, kafka, unreleased
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
    bug: Bug
    changes: str
    breaks: tuple[str, ...]
    caught_by: tuple[str, ...]
    source: str
    in_force: InForce  # the releases of Kafka that had the bug

    @property
    def name(self) -> str:
        return self.bug.value


SEEDED_BUGS: Final = (
    SeededBug(
        bug=Bug.NO_DEDUP,
        changes="A leader appends a retried batch again: it ignores producer ids and sequence "
        "numbers.",
        breaks=(
            "transactional_implies_idempotent",
            "exactly_once_publish",
            "append_order",
            "duplicate",
        ),
        caught_by=("suite transactions", "suite replication", "history analysis"),
        source="redpanda#3039",
        in_force=unreleased("Redpanda had one of this kind"),
    ),
    SeededBug(
        bug=Bug.DEDUP_LOST_ON_FAILOVER,
        changes="Followers keep no producer state, so a new leader appends a retried batch again.",
        breaks=("exactly_once_publish", "duplicate"),
        caught_by=("suite replication", "history analysis"),
        source="redpanda#5355",
        in_force=unreleased("Redpanda had one of this kind"),
    ),
    SeededBug(
        bug=Bug.SNAPSHOT_KEEPS_NEWEST,
        changes="A broker that restarts knows only the newest batch of each producer, as Kafka up "
        "to 4.3 does. It refuses the retry of an older batch, and a client that takes a new epoch "
        "sends the batch again.",
        breaks=("exactly_once_publish", "duplicate"),
        caught_by=("suite replication", "model idempotence, variant snapshot-keeps-newest"),
        source="ProducerStateManager.writeSnapshot",
        in_force=kafka("1.0", LATEST, "reproduced on real brokers of 4.3"),
    ),
    SeededBug(
        bug=Bug.PRODUCERS_GO_WITH_RECORDS,
        changes="A leader drops a producer's state when all its records are deleted, as before "
        "Kafka 2.4.",
        breaks=("exactly_once_publish", "duplicate"),
        caught_by=("transcripts of producers", "model idempotence, variant kip-98"),
        source="KIP-360 (KAFKA-7190)",
        in_force=kafka("0.11", "2.3"),
    ),
    SeededBug(
        bug=Bug.DELETES_UNCOMMITTED,
        changes="Retention deletes segments above the high watermark.",
        breaks=("committed_survives", "lost-write"),
        caught_by=("transcripts of retention", "model retention, variant expires-uncommitted"),
        source="KAFKA-5634",
        in_force=kafka("0.8", "0.11.0.0"),
    ),
    SeededBug(
        bug=Bug.DELETION_ANSWERED_ALONE,
        changes="A leader responds to DeleteRecords before its followers have deleted the records.",
        breaks=("offset_identifies",),
        caught_by=("transcripts of retention", "model retention, variant answers-alone"),
        source="KIP-107",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.HIGH_WATERMARK_LEFT_BEHIND,
        changes="A follower that truncates fully and starts at a new offset keeps its old high "
        "watermark, which is below its log start.",
        breaks=("reads_are_committed",),
        caught_by=(
            "transcripts of retention",
            "model retention, variant leaves-high-watermark-behind",
        ),
        source="KAFKA-9491",
        in_force=kafka(None, "2.4.0"),
    ),
    SeededBug(
        bug=Bug.DEAD_LEADER_RETURNS,
        changes="The controller elects the last known leader although that broker is fenced.",
        breaks=("wait_for_last_leader",),
        caught_by=("transcripts of elections", "model election, variant elects-the-dead"),
        source="KAFKA-19522",
        in_force=kafka("4.0.0", "4.0.0"),
    ),
    SeededBug(
        bug=Bug.ADDED_REPLICA_COUNTS,
        changes="The controller puts an added replica into the ISR before it has fetched a record, "
        "so a reassignment completes at once.",
        breaks=("committed_survives", "lost-write"),
        caught_by=("suite replication", "transcripts of reassignments"),
        source="KIP-455",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.UNCLEAN_SHUTDOWN_UNNOTICED,
        changes="A broker stays in the ELR after an unclean shutdown, although the end of its logs "
        "may be lost.",
        breaks=("committed_survives", "clean_election", "lost-write"),
        caught_by=("transcripts of elections", "model election, variant admits-unclean"),
        source="KAFKA-18635",
        in_force=unreleased("3.7 lacks the check, but its ELR needs an unstable metadata version"),
    ),
    SeededBug(
        bug=Bug.TRUNCATE_TO_HIGH_WATERMARK,
        changes="A follower truncates its log to its own high watermark at each new leader epoch, "
        "and sends no last fetched epoch.",
        breaks=("committed_survives", "exactly_once_publish", "inconsistent-offsets", "lost-write"),
        caught_by=("suite replication", "model replication, variant truncate-to-hw"),
        source="KIP-101 (KAFKA-1211)",
        in_force=kafka("0.8", "0.10"),
    ),
    SeededBug(
        bug=Bug.ACK_BEFORE_REPLICATION,
        changes="A leader acknowledges an acks=all produce before the record is replicated.",
        breaks=("committed_survives", "exactly_once_publish", "lost-write"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0",
        in_force=unreleased("Bufstream 0.1.0 had one of this kind"),
    ),
    SeededBug(
        bug=Bug.READ_ABOVE_HIGH_WATERMARK,
        changes="A leader returns records above the high watermark to consumers.",
        breaks=("reads_are_committed", "inconsistent-offsets"),
        caught_by=("suite replication", "history analysis"),
        source="KAFKA-9835",
        in_force=kafka("1.1", "2.5.0", "in a race of a fetch with an append"),
    ),
    SeededBug(
        bug=Bug.STALE_END_OFFSET,
        changes=f"Every {STALE_EVERY}rd response to ListOffsets(latest) is one offset too low.",
        breaks=("linearizable_offsets", "stale-end-offset"),
        caught_by=("suite replication", "history analysis"),
        source="jepsen.tests.kafka, realtime lag",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.ZERO_OFFSET_ACK,
        changes=f"Every {ZERO_OFFSET_EVERY}th produce acknowledgement has offset 0.",
        breaks=("offset_identifies", "inconsistent-offsets"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0",
        in_force=unreleased("Bufstream 0.1.0 had one of this kind"),
    ),
    SeededBug(
        bug=Bug.REORDERED_ACK_OFFSET,
        changes=f"Every {REORDERED_EVERY}th produce acknowledgement has an offset that is "
        f"{REORDERED_BY} too low: below one acknowledged before the send began.",
        breaks=(
            "linearizable_offsets",
            "offset_identifies",
            "offset-order-inversion",
            "inconsistent-offsets",
        ),
        caught_by=("suite replication", "history analysis"),
        source="docs/sources.md DOC3",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.LOST_APPEND,
        changes=f"A leader acknowledges every {LOST_EVERY}th batch without writing it to the log.",
        breaks=("committed_survives", "lost-write"),
        caught_by=("suite replication", "history analysis"),
        source="Jepsen, Bufstream 0.1.0 (lost acknowledged writes in healthy clusters)",
        in_force=unreleased("Bufstream 0.1.0 had one of this kind"),
    ),
    SeededBug(
        bug=Bug.MINIMUM_IGNORED,
        changes="A leader accepts acks=all and advances its high watermark although the ISR is "
        "smaller than min.insync.replicas.",
        breaks=("committed_definition", "min_isr_refuses", "committed_survives", "lost-write"),
        caught_by=("suite elections",),
        source="KIP-966: the high watermark below min.insync.replicas, as before Kafka 3.7",
        in_force=kafka("0.8.2", "3.6", "the high watermark only: no release accepts acks=all then"),
    ),
    SeededBug(
        bug=Bug.LAST_STABLE_OFFSET_READ,
        changes="A read_committed fetch returns the record at the last stable offset too.",
        breaks=("read_committed_waits", "atomic_commit", "G1a", "open-transaction-read"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="redpanda#3036",
        in_force=unreleased("Redpanda had one of this kind"),
    ),
    SeededBug(
        bug=Bug.ABORTED_NOT_LISTED,
        changes="The response to a read_committed fetch lists no aborted transactions.",
        breaks=("atomic_commit", "G1a"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="redpanda#7819",
        in_force=unreleased("Redpanda had one of this kind"),
    ),
    SeededBug(
        bug=Bug.UNREPLICATED_MARKER_COUNTS,
        changes="The last stable offset passes a transaction although its marker is not yet "
        "replicated.",
        breaks=("read_committed_waits", "stale-end-offset"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="KAFKA-5121",
        in_force=unreleased("0.11.0.0, the first with transactions, waits for the replicas"),
    ),
    SeededBug(
        bug=Bug.COMPACTS_UNCOMMITTED,
        changes="Compaction passes the high watermark when no transaction is open.",
        breaks=("committed_survives", "lost-write"),
        caught_by=(
            "transcripts of compaction",
            "model retention, variant cleans-past-hw",
        ),
        source="KAFKA-13194",
        in_force=kafka("0.11", "3.0"),
    ),
    SeededBug(
        bug=Bug.GUARD_OUTLIVES_MARKER,
        changes="A leader appends a verified batch although the transaction's marker was appended "
        "in the meantime.",
        breaks=("timeout_aborts", "atomic_commit", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactions",
            "model transactions, variant keeps-guard",
            "history analysis",
        ),
        source="KAFKA-14884",
        in_force=unreleased("3.6.0, the first release that verifies, has the guard"),
    ),
    SeededBug(
        bug=Bug.LATE_MARKER_ACCEPTED,
        changes="A leader accepts a late V2 marker whose producer epoch equals that of the open "
        "transaction, and ends that transaction.",
        breaks=("atomic_commit", "torn-transaction"),
        caught_by=(
            "suite transactions",
            "transcripts of transactions",
            "model transactions-abstract, variant lax-markers",
            "history analysis",
        ),
        source="KAFKA-19446, KIP-1228",
        in_force=kafka("4.0", "4.1"),
    ),
    SeededBug(
        bug=Bug.MARKER_ON_ONE_PARTITION,
        changes="A coordinator writes the marker of a transaction to only one of its topic "
        "partitions.",
        breaks=("atomic_commit", "torn-transaction", "unseen"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="docs/kafka-rules.md D5",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.ZOMBIE_NOT_FENCED,
        changes="A coordinator assigns the old instance's producer epoch to a new instance of a "
        "transactional id.",
        breaks=("retry_resumes", "exactly_once_pipeline", "zombie-write"),
        caught_by=("suite transactions", "transcripts of transactions", "history analysis"),
        source="docs/kafka-rules.md D1",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.FAILED_FENCE_COUNTS,
        changes="A coordinator raises the epoch of an open transaction before the fence is in its "
        "log, so each failed fence uses up one more epoch.",
        breaks=("retry_resumes",),
        caught_by=(
            "transcripts of transactional ids",
            "model transactions, variant forgets-failed-fence",
        ),
        source="KAFKA-9666",
        in_force=kafka("0.11", "2.5"),
    ),
    SeededBug(
        bug=Bug.DELAYED_END_ACCEPTED,
        changes="A delayed EndTxn with an older producer epoch ends the transaction that is open "
        "now.",
        breaks=("atomic_commit", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactional ids",
            "model transactions, variant verification",
            "history analysis",
        ),
        source="KAFKA-17754",
        in_force=kafka("0.11", LATEST, needs="transaction.version below 2"),
    ),
    SeededBug(
        bug=Bug.LATE_PRODUCE_ACCEPTED,
        changes="A leader does not verify transactions: a batch that arrives after the marker "
        "opens a hanging transaction.",
        breaks=("timeout_aborts", "read_committed_waits", "unseen", "G1a"),
        caught_by=(
            "suite transactions",
            "transcripts of transactional ids",
            "model transactions-abstract, variant v1",
            "history analysis",
        ),
        source="KIP-890, KAFKA-14402",
        in_force=kafka("0.11", "3.5"),
    ),
    SeededBug(
        bug=Bug.OFFSETS_DESPITE_ABORT,
        changes="A group coordinator applies the offset commits of an aborted transaction.",
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
        source="docs/kafka-rules.md D3",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.OFFSETS_LOST_AT_COMMIT,
        changes="A group coordinator drops the offset commits of a committed transaction.",
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
        source="docs/kafka-rules.md D3",
        in_force=UNRELEASED,
    ),
    SeededBug(
        bug=Bug.GENERATION_NOT_CHECKED,
        changes="A group coordinator accepts transactional offset commits of members of an old "
        "generation.",
        breaks=("exactly_once_pipeline", "input-processed-twice"),
        caught_by=("suite delivery", "transcripts of groups"),
        source="KIP-447",
        in_force=kafka("0.11", "2.4"),
    ),
    SeededBug(
        bug=Bug.PARTITION_EPOCH_ERASED,
        changes="A KIP-848 group loses the partition epoch of a partition that is assigned again "
        "to the member that was revoking it: another member gets it too.",
        breaks=("one_owner",),
        caught_by=(
            "suite groups",
            "transcripts of groups",
            "model consumer-group, variant erases-what-comes-back",
        ),
        source="KAFKA-16147",
        in_force=kafka("3.7", "3.7"),
    ),
    SeededBug(
        bug=Bug.REJOIN_REFUSED,
        changes="A KIP-848 group rejects a fenced member that joins again with epoch 0.",
        breaks=("position_resumes",),
        caught_by=("transcripts of groups", "model consumer-group, variant refuses-return"),
        source="KAFKA-19233",
        in_force=kafka("3.7", "4.1"),
    ),
    SeededBug(
        bug=Bug.EMPTY_GROUP_UNSETTLED,
        changes="When the last member of a KIP-848 group is fenced, the group epoch increases and "
        "the assignment epoch does not.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model consumer-group, variant leaves-empty-group-open",
        ),
        source="KAFKA-20442",
        in_force=kafka("3.7", LATEST, "fixed after 4.3.1"),
    ),
    SeededBug(
        bug=Bug.EXACT_EPOCH_WANTED,
        changes="A KIP-848 group rejects the offset commit of a partition's owner that has not yet "
        "received its newest member epoch.",
        breaks=("position_resumes",),
        caught_by=("transcripts of groups", "model consumer-group, variant wants-exact-epoch"),
        source="KIP-1251, KAFKA-20066",
        in_force=kafka("3.7", "4.2"),
    ),
    SeededBug(
        bug=Bug.STATIC_REPLACED_WHEN_STABLE,
        changes="During a rebalance a new process of a static member does not replace the old one: "
        "both are members.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model classic-group, variant adds-instances",
        ),
        source="KAFKA-8500",
        in_force=unreleased("fixed before 2.3.0, the first release with static members"),
    ),
    SeededBug(
        bug=Bug.STATIC_REPLACEMENT_NOT_KEPT,
        changes="A group coordinator does not log that a new process has replaced a static member.",
        breaks=("one_owner",),
        caught_by=(
            "transcripts of groups",
            "model classic-group, variant forgets-replacement",
        ),
        source="KAFKA-10284",
        in_force=kafka("2.3", "2.6.0"),
    ),
    SeededBug(
        bug=Bug.OFFSETS_EXPIRE_WHILE_ALIVE,
        changes="Committed offsets expire although the group still has members.",
        breaks=("position_resumes", "retention_loses"),
        caught_by=(
            "transcripts of groups",
            "model group-offsets, variant expires-in-rebalance",
        ),
        source="KAFKA-13636, KAFKA-8069",
        in_force=kafka("2.4", "3.1.0", fixed_in=("2.8.2", "3.0.1")),
    ),
    SeededBug(
        bug=Bug.OFFSETS_DROPPED_WITH_GROUP,
        changes="A new coordinator drops all offsets of a group that has expired once, including "
        "those committed later.",
        breaks=("position_resumes",),
        caught_by=(
            "transcripts of groups",
            "model group-offsets, variant drops-deleted-groups",
        ),
        source="KAFKA-4704",
        in_force=kafka("0.10.1", "0.10.1", "the new coordinator fails while it reads the log"),
    ),
)
