"""A table of Kafka's log lines about replication, and of the step that each line reports.

The first row that fits a line determines its step. The messages in the table are those that Kafka
3.5 to 4.3 write. A new release of Kafka may write different messages. `urteil trace` therefore
counts the *unknown* lines: their logger is in the table, but no row fits them.

Source: Partition.makeLeader; Partition.updateFollowerFetchState; UnifiedLog.truncateTo;
ReplicaFetcherThread.processPartitionData; ReplicationControlManager.alterPartition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum, unique
from typing import Final

from checkers.tracing.logged_events import Event, Row, nothing, row


@unique
class Step(StrEnum):
    """The kinds of steps that a node takes on a partition, for example `truncate`."""

    CREATE = "create the partition"
    CHANGE = "change the registration"
    REFUSE = "refuse a proposed ISR"
    LEAD = "start to lead"
    FOLLOW = "start to follow"
    LEARN = "learn the registration"
    LOAD = "load the log"
    APPEND = "append"
    COPY = "append what was fetched"
    PRODUCER = "name the producer of a batch"
    TRUNCATE = "truncate"
    START_AT = "truncate fully and start at an offset"
    FLUSH = "flush the log"
    ADVANCE = "advance the high watermark"
    PROPOSE = "propose an ISR member"
    COMMIT_ISR = "learn that the ISR changed"
    RECORD = "record a follower's log end"
    FETCH = "send a fetch"
    RECEIVE = "receive a fetch response"
    FAIL = "fail to handle a fetch response"
    COPIED = "finish with a fetch response"
    FOLLOWER_MARK = "take over the high watermark"


# Kafka writes these lines after their effect, when another thread may have seen it. It writes the
# others first: a fetch before it is sent, a change before it is committed, a role under its lock.
WRITTEN_AFTER: Final = frozenset({
    Step.LOAD, Step.PRODUCER, Step.APPEND, Step.COPY, Step.COPIED, Step.FOLLOWER_MARK, Step.ADVANCE,
    Step.RECORD, Step.LEARN, Step.COMMIT_ISR,
})  # fmt: skip


_OF_LOG: Final = r"\[UnifiedLog partition=(?P<subject>\S+),.*?"
_APPENDED: Final = (  # Kafka 3.5 writes `first offset: Optional[(offset=0segment=[0:0])]`
    _OF_LOG + r"last offset: (?P<last>\d+), first offset: (?:Optional\[\(offset=)?(?P<first>\d+)"
)
_OF_BROKER: Final = r"\[Partition (?P<subject>\S+) broker=\d+\] .*?"
_EPOCHS: Final = r"leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+)"
_REGISTERED: Final = (  # Kafka 3 writes the fields in another order
    r" (?P<subject>\S+) with (?=.*?isr=\[(?P<isr>[\d, ]*)\])"
    r"(?=.*?leaderEpoch=(?P<leader_epoch>\d+))(?=.*?partitionEpoch=(?P<partition_epoch>\d+))"
    r".*since it is already"
)

_ROWS: Final[Sequence[Row]] = (
    # ---- the controller
    *(
        row(
            "ReplicationControlManager",
            begins,
            Step.CREATE,
            r"partition (?P<subject>\S+) with .*?replicas=\[(?P<replicas>[\d, ]*)\].*?"
            r" isr=\[(?P<isr>[\d, ]*)\](?:.*?elr=\[(?P<elr>[\d, ]*)\])?.*?"
            r" leader=(?P<leader>-?\d+),.*?"
            r"leaderEpoch=(?P<leader_epoch>\d+), partitionEpoch=(?P<partition_epoch>\d+)",
        )
        for begins in ("Replayed PartitionRecord for new partition", "Created partition")
    ),
    *(
        row(
            "ReplicationControlManager",
            f"{kind}partition change for",
            Step.CHANGE,
            r"change for (?P<subject>\S+) with topic ID \S+: (?P<changes>.*)",
        )
        for kind in ("", "UNCLEAN ")
    ),
    row(
        "ReplicationControlManager",
        "Rejecting AlterPartition request from node",
        Step.REFUSE,
        r"node (?P<proposer>\d+) for (?P<subject>\S+) because it specified ineligible replicas",
    ),
    *nothing("ReplicationControlManager", ""),
    # ---- roles
    row(
        "logger",
        "Leader",
        Step.LEAD,
        rf"Leader (?P<subject>\S+) .*?starts at {_EPOCHS} "
        r"with partition epoch (?P<partition_epoch>\d+), "
        r"high watermark (?P<mark>\d+), ISR \[(?P<isr>[\d,]*)\]",
    ),
    row(
        "logger",
        "Follower",
        Step.FOLLOW,
        rf"Follower (?P<subject>\S+) starts at {_EPOCHS} "
        r"with partition epoch (?P<partition_epoch>\d+) and "
        r"high watermark (?P<mark>\d+)\. Current leader is (?P<leader>-?\d+)",
    ),
    *(
        row("logger", f"Skipped the become-{role} state", Step.LEARN, f"change for{_REGISTERED}")
        for role in ("leader", "follower")
    ),
    *nothing(
        "logger", "Skipped the become-", "Creating new partition", "The topic partition",
        "Transitioning", "Stopped fetchers", "Started fetchers", "Handling", "Completed",
        "Received", "Stopping", "Unable", "Ignoring",
    ),
    # ---- the log
    row(
        "UnifiedLog",
        "Appended message set",
        Step.COPY,
        _APPENDED,
        r"ReplicaFetcherThread",
    ),
    row(
        "UnifiedLog",
        "Appended message set",
        Step.APPEND,
        _APPENDED,
        r"^(?!ReplicaAlterLogDirs)",
    ),
    row(
        "UnifiedLog",
        "Truncating to offset",
        Step.TRUNCATE,
        _OF_LOG + r"to offset (?P<offset>\d+)",
    ),
    row(
        "UnifiedLog",
        "Truncate and start at offset",
        Step.START_AT,
        _OF_LOG + r"at offset (?P<offset>\d+)",
    ),
    row(
        "UnifiedLog",
        "Flushing log up to",
        Step.FLUSH,
        _OF_LOG + r"with recovery point (?P<offset>\d+)",
    ),
    row(
        "ProducerStateManager",
        "Updated producer",
        Step.PRODUCER,
        r"partition=(?P<subject>\S+?)\].* ProducerAppendInfo\(producerId=(?P<producer>\d+), "
        r"producerEpoch=(?P<epoch>\d+), firstSequence=(?P<first_sequence>-?\d+), "
        r"lastSequence=(?P<last_sequence>-?\d+)",
        r"^(?!ReplicaFetcherThread|ReplicaAlterLogDirs|log-recovery)",
    ),
    *nothing("ProducerStateManager", ""),
    *nothing(
        "UnifiedLog", "Appended message set", "Setting high watermark", "First unstable offset",
        "LogSegment", "FileRecords", "Loading producer state", "Reloading from",
        "Producer state recovery", "Truncating", "Duplicate batch", "Incremented l", "Deleting",
        "Rolling", "Rolled", "Searching offset", "Closing", "Non-monotonic", "Skipping batch",
        "Empty active", "Clearing leader epoch", "The topic id",
    ),
    # ---- the partition of a broker
    row(
        "Partition",
        "Recorded replica",
        Step.RECORD,
        _OF_BROKER + r"replica (?P<follower>\d+) .*? position (?P<offset>\d+)",
    ),
    row(
        "Partition",
        "High watermark updated",
        Step.ADVANCE,
        _OF_BROKER + r"from \(offset=(?P<before>\d+).*? to \(offset=(?P<mark>\d+)",
    ),
    row(
        "Partition",
        "Log loaded",
        Step.LOAD,
        _OF_BROKER + r"initial high watermark (?P<mark>\d+)",
    ),
    row(
        "Partition",
        "Submitting ISR state change PendingExpandIsr",
        Step.PROPOSE,
        _OF_BROKER + r"newInSyncReplicaId=(?P<member>\d+), .*?"
        r"leaderEpoch=(?P<leader_epoch>\d+),.*?partitionEpoch=(?P<partition_epoch>\d+)",
    ),
    row(
        "Partition",
        "ISR updated to",
        Step.COMMIT_ISR,
        _OF_BROKER + r"updated to (?P<isr>[\d,]*) .*version updated to (?P<partition_epoch>\d+)",
    ),
    *nothing(
        "Partition", "Submitting ISR state change PendingShrinkIsr", "Skipping update",
        "Progress awaiting", "UnifiedLog already", "Future UnifiedLog", "No checkpointed",
        "Not increasing HWM", "Shrinking ISR", "Ignoring", "Failed to", "The alter partition",
        "Leader ", "The replica state", "Unexpected offset", "Current log directory",
        "Skipping creation", "Offline",
    ),
    # ---- the fetcher of a broker
    row(
        "ReplicaFetcherThread",
        "Sending fetch request",
        Step.FETCH,
        r"(?<=[{ ])(?P<subject>[\w.-]+)=PartitionData\([^)]*?fetchOffset=(?P<offset>\d+),[^)]*?"
        r"currentLeaderEpoch=Optional\[(?P<leader_epoch>\d+)\], "
        r"lastFetchedEpoch=Optional(?:\[(?P<last_epoch>\d+)\]|\.empty)",
    ),
    row(
        "ReplicaFetcherThread",
        "Follower received high watermark",
        Step.FOLLOWER_MARK,
        r"received high watermark (?P<received>\d+) .*?(?:to (?P<mark>\d+) )?"
        r"for partition (?P<subject>\S+)",
    ),
    row(
        "ReplicaFetcherThread",
        "Follower has replica log end offset",
        Step.RECEIVE,
        r"end offset (?P<offset>\d+) for partition (?P<subject>\S+?)\. .*leader hw (?P<mark>\d+)",
    ),
    row(
        "ReplicaFetcherThread",
        "Follower has replica log end offset",
        Step.COPIED,
        r"end offset (?P<offset>\d+) after .* for partition (?P<subject>\S+)",
    ),
    *(
        row(
            "ReplicaFetcherThread",
            begins,
            Step.FAIL,
            r"for partition (?P<subject>[\w.-]*-\d+)",
        )
        for begins in ("Found invalid messages", "Error while processing data", "Unexpected error")
    ),
    *nothing(
        "ReplicaFetcherThread", "Sending", "Truncating partition", "Handling errors", "Error",
        "Remote broker", "There are no", "Retrying", "Ignoring", "Partition", "Based on", "Leader",
        "Received", "Could not", "Skipping", "Reset fetch", "Truncate fully", "Current offset",
        "Starting", "Stopped", "Shutting", "Shutdown", "Node",
    ),
)  # fmt: skip

TABLE: Final = tuple(replace(one, is_late=one.step in WRITTEN_AFTER) for one in _ROWS)


def creates(event: Event) -> bool:
    return isinstance(event.step, Step) and event.step is Step.CREATE


def names_producer(event: Event) -> bool:
    return isinstance(event.step, Step) and event.step is Step.PRODUCER
