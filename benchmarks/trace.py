"""Measures `urteil trace`, which checks that a spec permits each event in the logs of brokers.

An event is *followed* when the spec has checked it. The benchmark reports four results:

- the time to read and follow the events of a log of 10,000 records, compared with the time to read
  them;
- for logs of several lengths, the number of events that are followed in a CPU second;
- for the same logs, the CPU time of an action in the reference interpreter;
- the number of traces with a mutation that are rejected.

The long logs are synthetic. Their lines are like those that three brokers and a controller of Kafka
4.3.0 write for batches of four records. In the middle of a log, the leader changes.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.pairs import Pairing, paired
from checkers.tracing.following import follow
from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Refused
from checkers.tracing.reading import read
from checkers.tracing.replication import PartitionReplication
from checkers.tracing.transactions import TransactionalId
from model.language.interpreter import Interpreter
from tests.checkers.tracing.mutants import Begin, judged, mutants

RECORDS: Final = 10_000
LENGTHS: Final = (1_000, 10_000, 40_000)
BATCH: Final = 4
BROKERS: Final = (1, 2, 3)
RECORDED: Final = Path(__file__).parents[1] / "tests" / "data" / "kafka_trace"
PARTITION: Final = "long-0"

Line = tuple[int, str]  # the node, and the text after the time


def run() -> list[Pairing]:
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), RECORDS)
        return [
            paired(
                (f"log of {RECORDS:,} records, read and followed", lambda: followed(files)),
                (f"log of {RECORDS:,} records, read", lambda: len(read_events(files))),
                runs=3,
            )
        ]


def facts() -> Mapping[str, object]:
    return {
        "logs": {f"{records:,} records": of_length(records) for records in LENGTHS},
        "recorded trace": of_recorded(),
        "mutants of a partition": of_mutants(
            [read_events(sorted(RECORDED.glob("*.gz")), "tt-0")], PartitionReplication.of
        ),
        "mutants of transactions": of_mutants(transactions(), TransactionalId.of),
    }


def read_events(files: Sequence[Path], partition: str = PARTITION) -> Sequence[Event]:
    return read(log_lines(files)).partitions[partition]


def followed(files: Sequence[Path]) -> int:
    events = read_events(files)
    found = follow(PartitionReplication.of(events), events)
    assert found.accepted, found.forbidden
    return found.events


def of_length(records: int) -> Mapping[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        files = write(Path(folder), records)
        start = time.process_time()
        events = read_events(files)
        reading_s = time.process_time() - start
        start = time.process_time()
        found = follow(PartitionReplication.of(events), events)
        following_s = time.process_time() - start
    assert found.accepted, found.forbidden
    return {
        "events": found.events,
        "actions": found.actions.total(),
        "reading_cpu_s": round(reading_s, 2),
        "following_cpu_s": round(following_s, 2),
        "events_per_cpu_s": round(found.events / (reading_s + following_s)),
        "interpreter_ms_per_action": round(interpreter_ms(events), 1),
    }


def interpreter_ms(events: Sequence[Event]) -> float:
    """Returns the average CPU time of an action in the reference interpreter, in ms. The actions
    are an append, two fetch requests, and an attempt to advance the high watermark.
    """
    begun = PartitionReplication.of(events)
    assert not isinstance(begun, Refused)
    stepper = begun.behaviour.stepper
    interpreter, state = Interpreter(stepper.ranges), dict(begun.behaviour.state)
    calls = [("append", (0, 1, 1))] + [("fetch_request", (f, 0)) for f in (1, 2)]
    start = time.process_time()
    for name, values in calls:
        after = interpreter.step(stepper.actions[name], state, values)
        assert after is not None
        state = dict(after)
    interpreter.step(stepper.actions["advance_high_watermark"], state, (0, 0))
    return (time.process_time() - start) / (len(calls) + 1) * 1_000


def of_recorded() -> Mapping[str, object]:
    start = time.process_time()
    events = read_events(sorted(RECORDED.glob("*.gz")), "tt-0")
    found = follow(PartitionReplication.of(events), events)
    cpu_s = time.process_time() - start
    return {
        "events": found.events,
        "taken": found.taken,
        "early": found.early,
        "events_per_cpu_s": round(found.events / cpu_s),
        "actions": dict(found.actions),
    }


def transactions() -> Sequence[Sequence[Event]]:
    folders = RECORDED, RECORDED.with_name("kafka_trace_producers")
    found = (read(log_lines(sorted(folder.glob("*.gz")))) for folder in folders)
    return [one.transactional_ids["tx1"] for one in found]


def of_mutants(traces: Sequence[Sequence[Event]], begin: Begin) -> Mapping[str, object]:
    made, rejected, equivalent = Counter[str](), Counter[str](), Counter[str]()
    survivors = Counter[str]()
    start = time.process_time()
    every = (one for events in traces for one in judged(events, mutants(events), begin))
    for one in every:
        kind = one.mutant.kind
        if one.is_equivalent:
            equivalent[kind] += 1
            continue
        made[kind] += 1
        rejected[kind] += one.rejected is not None
        if one.rejected is None:
            survivors[f"{kind} of an event: {one.mutant.original.step}"] += 1
    return {
        "cpu_s": round(time.process_time() - start, 1),
        "made": made.total(),
        "rejected": rejected.total(),
        "rejected_share": round(rejected.total() / made.total(), 4),
        "survivors": dict(survivors),
        "made, rejected, equivalent and not counted": {
            kind: [made[kind], rejected[kind], equivalent[kind]]
            for kind in sorted(made | equivalent)
        },
    }


# ---------------------------------------------------------------- long logs


def write(folder: Path, records: int) -> Sequence[Path]:
    files: dict[int, list[str]] = {}
    for k, (node, text) in enumerate(lines(records), 1):
        files.setdefault(node, []).append(f"{k * 10_000} {text}\n")
    for node, texts in files.items():
        head = f"1 INFO RaftManager [kafka-{node}-raft-io-thread] started\n"
        (folder / f"node-{node}.log").write_text("".join((head, *texts)))
    return sorted(folder.glob("node-*.log"))


def lines(records: int) -> Iterator[Line]:
    """Yields the log lines of one partition. Broker 1 leads in the first half, and broker 2 in the
    second half.
    """
    yield (
        0,
        "INFO ReplicationControlManager [event-handler] [QuorumController id=0] Replayed "
        f"PartitionRecord for new partition {PARTITION} with topic ID A and PartitionRegistration("
        "replicas=[1, 2, 3], directories=[A, B, C], isr=[1, 2, 3], removingReplicas=[], "
        "addingReplicas=[], elr=[], lastKnownElr=[], leader=1, leaderRecoveryState=RECOVERED, "
        "leaderEpoch=0, partitionEpoch=0).",
    )
    half = records // 2 // BATCH * BATCH
    last: int | None = None
    for epoch, leader, first, stop in ((0, 1, 0, half), (1, 2, half, records)):
        if epoch:
            yield (
                0,
                "DEBUG ReplicationControlManager [event-handler] [QuorumController id=0] "
                f"partition change for {PARTITION} with topic ID A: leader: 1 -> 2, "
                "leaderEpoch: 0 -> 1, partitionEpoch: 0 -> 1",
            )
        yield from roles(epoch, leader, first)
        followers = [b for b in BROKERS if b != leader]
        for f in followers:
            yield fetch(f, epoch, first, last)
            yield record(leader, f, first)
        for start in range(first, stop, BATCH):
            yield from one_batch(epoch, leader, followers, start, is_first=start == first)
            last = epoch
        for f in followers:  # an empty response with the final high watermark
            yield from response(f, stop, stop, stop, raises=True)


def roles(epoch: int, leader: int, end: int) -> Iterator[Line]:
    for b in BROKERS:
        does = (
            f"Leader {PARTITION} with topic id Some(A) starts"
            if b == leader
            else f"Follower {PARTITION} starts"
        )
        rest = (
            f"high watermark {end}, ISR [1,2,3], adding replicas [] ."
            if b == leader
            else f"and high watermark {end}. Current leader is {leader}. Previous"
        )
        comma = "," if b == leader else ""
        yield (
            b,
            f"INFO logger [metadata] [Broker id={b}] {does} at leader epoch {epoch} from offset "
            f"{end} with partition epoch {epoch}{comma} {rest}",
        )


def one_batch(
    epoch: int, leader: int, followers: Sequence[int], start: int, *, is_first: bool
) -> Iterator[Line]:
    end = start + BATCH
    yield append(leader, start, "data-plane-kafka-request-handler-0")
    for f in followers:
        yield from response(f, start, end, start, raises=not is_first)
        yield fetch(f, epoch, end, epoch)
    for f in followers:
        if f == followers[-1]:
            yield (
                leader,
                f"DEBUG Partition [data-plane-kafka-request-handler-1] [Partition {PARTITION} "
                f"broker={leader}] High watermark updated from (offset={start}, segment=[0:0]) to "
                f"(offset={end}, segment=[0:0])",
            )
        yield record(leader, f, end)


def append(node: int, first: int, thread: str) -> Line:
    return (
        node,
        f"TRACE UnifiedLog [{thread}] [UnifiedLog partition={PARTITION}, dir=d] Appended message "
        f"set with last offset: {first + BATCH - 1}, first offset: {first}, next offset: "
        f"{first + BATCH}, and messages: MemoryRecords(size=99)",
    )


def fetcher(node: int) -> str:
    return f"[ReplicaFetcherThread-0-1] [ReplicaFetcher replicaId={node}, leaderId=1, fetcherId=0]"


def fetch(node: int, epoch: int, offset: int, last: int | None) -> Line:
    of_last = "Optional.empty" if last is None else f"Optional[{last}]"
    return (
        node,
        f"TRACE ReplicaFetcherThread {fetcher(node)} Sending fetch request (type=FetchRequest, "
        f"fetchData={{{PARTITION}=PartitionData(topicId=A, fetchOffset={offset}, logStartOffset=0, "
        f"maxBytes=1048576, currentLeaderEpoch=Optional[{epoch}], lastFetchedEpoch={of_last})}}, "
        "isolationLevel=read_uncommitted, removed=, replaced=)",
    )


def response(node: int, start: int, end: int, mark: int, *, raises: bool) -> Iterator[Line]:
    """Yields the log lines of a follower that handles a fetch response with the records from
    `start` to before `end`.

    `mark` is the leader's high watermark. If `raises` is True, the follower's high watermark rises
    to it.
    """
    head = f"TRACE ReplicaFetcherThread {fetcher(node)} Follower"
    of = f"for partition {PARTITION}"
    yield (
        node,
        f"{head} has replica log end offset {start} {of}. Received 99 bytes of messages and leader "
        f"hw {mark}",
    )
    if start < end:
        yield append(node, start, "ReplicaFetcherThread-0-1")
    yield node, f"{head} has replica log end offset {end} after appending 99 bytes of messages {of}"
    text = f"and updated replica high watermark to {mark}" if raises else "but did not update"
    yield node, f"{head} received high watermark {mark} from the leader {text} {of}"


def record(leader: int, follower: int, offset: int) -> Line:
    return (
        leader,
        f"DEBUG Partition [data-plane-kafka-request-handler-1] [Partition {PARTITION} "
        f"broker={leader}] Recorded replica {follower} log end offset (LEO) position {offset} and "
        "log start offset 0.",
    )
