"""Writes log files as Kafka 4.3.0 writes them; a test states a trace in a few words.

    trace(tmp_path,
          (0, created()),                 # the controller is node 0
          (1, leads(0)), (2, follows(0)),
          (1, appends(0, 2)),             # offsets 0 to 2
          ...)

Each line comes one millisecond after the one before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.reading import Reading, read

HANDLER = "data-plane-kafka-request-handler-0"
FETCHER = "ReplicaFetcherThread-0-1"
METADATA = "metadata-loader-event-handler"
CONTROLLER = "quorum-controller-0-event-handler"
Line = tuple[int, str]  # node, text behind the clock


def created(replicas: str = "1, 2") -> str:
    return (
        f"INFO ReplicationControlManager [{CONTROLLER}] [QuorumController id=0] Replayed "
        f"PartitionRecord for new partition t-0 with topic ID A and PartitionRegistration("
        f"replicas=[{replicas}], directories=[A, B], isr=[{replicas}], removingReplicas=[], "
        "addingReplicas=[], elr=[], lastKnownElr=[], leader=1, leaderRecoveryState=RECOVERED, "
        "leaderEpoch=0, partitionEpoch=0)."
    )


def changes(text: str, kind: str = "") -> str:
    return (
        f"DEBUG ReplicationControlManager [{CONTROLLER}] [QuorumController id=0] "
        f"{kind}partition change for t-0 with topic ID A: {text}"
    )


def leads(
    epoch: int,
    *,
    end: int = 0,
    mark: int = 0,
    isr: str = "1,2",
    node: int = 1,
    partition_epoch: int | None = None,
) -> str:
    registered = epoch if partition_epoch is None else partition_epoch
    return (
        f"INFO logger [{METADATA}] [Broker id={node}] Leader t-0 with topic id Some(A) starts at "
        f"leader epoch {epoch} from offset {end} with partition epoch {registered}, high watermark "
        f"{mark}, ISR [{isr}], adding replicas [] and removing replicas [] ."
    )


def flushes(point: int) -> str:
    return (
        "DEBUG UnifiedLog [kafka-scheduler-1] [UnifiedLog partition=t-0, dir=d] Flushing log up "
        f"to offset {point} (exclusive) with recovery point {point}, last flushed: 1,  current "
        "time: 2, unflushed: 1"
    )


def follows(
    epoch: int,
    *,
    end: int = 0,
    mark: int = 0,
    node: int = 2,
    leader: int = 1,
    partition_epoch: int | None = None,
) -> str:
    registered = epoch if partition_epoch is None else partition_epoch
    return (
        f"INFO logger [{METADATA}] [Broker id={node}] Follower t-0 starts at leader epoch {epoch} "
        f"from offset {end} with partition epoch {registered} and high watermark {mark}. Current "
        f"leader is {leader}. Previous leader None and previous leader epoch was -1."
    )


def appends(first: int, last: int, thread: str = HANDLER) -> str:
    return (
        f"TRACE UnifiedLog [{thread}] [UnifiedLog partition=t-0, dir=d] Appended message set with "
        f"last offset: {last}, first offset: {first}, next offset: {last + 1}, and messages: M"
    )


def names(
    producer: int, epoch: int, first: int, last: int | None = None, thread: str = HANDLER
) -> str:
    """Returns the line in which Kafka logs the producer of a batch, before the line of the append.

    The line has the producer's id and epoch, and the first and last sequence number of the batch.
    """
    return (
        f"TRACE ProducerStateManager [{thread}] [ProducerStateManager partition=t-0] Updated "
        f"producer {producer} state to ProducerAppendInfo(producerId={producer}, "
        f"producerEpoch={epoch}, firstSequence={first}, "
        f"lastSequence={first if last is None else last}, currentTxnFirstOffset=OptionalLong.empty,"
        " coordinatorEpoch=-1, lastTimestamp=1, startedTransactions=[])"
    )


def copies(first: int, last: int) -> str:
    return appends(first, last, FETCHER)


def truncates(offset: int) -> str:
    log = "[UnifiedLog partition=t-0, dir=d]"
    return f"INFO UnifiedLog [{FETCHER}] {log} Truncating to offset {offset}"


def fetches(offset: int, epoch: int = 0, last_epoch: int | None = None, node: int = 2) -> str:
    last = "Optional.empty" if last_epoch is None else f"Optional[{last_epoch}]"
    return (
        f"TRACE ReplicaFetcherThread [{FETCHER}] [ReplicaFetcher replicaId={node}, leaderId=1, "
        f"fetcherId=0] Sending fetch request (type=FetchRequest, fetchData={{t-0=PartitionData("
        f"topicId=A, fetchOffset={offset}, logStartOffset=0, maxBytes=1048576, "
        f"currentLeaderEpoch=Optional[{epoch}], lastFetchedEpoch={last})}}, isolationLevel=x)"
    )


def advances(before: int, mark: int, node: int = 1) -> str:
    return (
        f"DEBUG Partition [{HANDLER}] [Partition t-0 broker={node}] High watermark updated from "
        f"(offset={before}, segment=[0:0]) to (offset={mark}, segment=[0:0])"
    )


def records(follower: int, offset: int, node: int = 1) -> str:
    return (
        f"DEBUG Partition [{HANDLER}] [Partition t-0 broker={node}] Recorded replica {follower} "
        f"log end offset (LEO) position {offset} and log start offset 0."
    )


def loads(mark: int, node: int) -> str:
    return (
        f"INFO Partition [{METADATA}] [Partition t-0 broker={node}] Log loaded for partition t-0 "
        f"with initial high watermark {mark}"
    )


def write(folder: Path, *lines: Line) -> list[Path]:
    files: dict[int, list[str]] = {}
    for k, (node, text) in enumerate(lines, 1):
        files.setdefault(node, []).append(f"{k}000000 {text}\n")
    for node, texts in files.items():
        # lines of UnifiedLog name no node, so the file begins with a line of another logger
        thread = f"[kafka-{node}-raft-io-thread]"
        head = f"1 INFO RaftManager {thread} started\n"
        (folder / f"node-{node}.log").write_text("".join((head, *texts)))
    return sorted(folder.glob("node-*.log"))


def reading(folder: Path, *lines: Line) -> Reading:
    return read(log_lines(write(folder, *lines)))


def trace(folder: Path, *lines: Line) -> list[Event]:
    return reading(folder, *lines).partitions["t-0"]


# A leader appends one record, its follower copies it, and the leader commits it.
ONE_RECORD: Final[tuple[Line, ...]] = (
    (0, created()),
    (1, leads(0)),
    (2, follows(0)),
    (2, fetches(0)),
    (1, records(2, 0)),
    (1, appends(0, 0)),
    (2, copies(0, 0)),
    (2, fetches(1, last_epoch=0)),
    (1, advances(0, 1)),
    (1, records(2, 1)),
)
