"""The table that maps a line of Kafka's logs to an event of a partition, or to nothing.

A row names the logger, how the message begins behind its `[...]` prefix, and the event. The named
groups of the pattern become the fields of the event: a group of `SETS` is a set of broker ids,
`changes` is a list of `field: before -> after`, any other group is a number. The first row that
fits decides. A line of one of these loggers that no row fits is *unknown*; `urteil trace` counts
unknown lines, because a new release of Kafka may write new ones.

Messages of Kafka 4.3.0. The state change logger has the short name `logger`.

Source: Partition.makeLeader; Partition.updateFollowerFetchState; UnifiedLog.truncateTo;
ReplicaFetcherThread.processPartitionData; ReplicationControlManager.alterPartition.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Final

from checkers.tracing.log_lines import LogLine

Field = int | frozenset[int]
SETS: Final = frozenset({"isr", "elr", "lastKnownElr", "replicas", "adding", "removing"})


@unique
class Step(StrEnum):
    """The kinds of events, by what the node did."""

    CREATE = "create the partition"
    CHANGE = "change the registration"
    REFUSE = "refuse a proposed ISR"
    LEAD = "start to lead"
    FOLLOW = "start to follow"
    LEARN = "learn the registration"
    LOAD = "load the log"
    APPEND = "append"
    COPY = "append what was fetched"
    TRUNCATE = "truncate"
    START_AT = "truncate fully and start at an offset"
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
    Step.LOAD, Step.APPEND, Step.COPY, Step.COPIED, Step.FOLLOWER_MARK, Step.ADVANCE, Step.RECORD,
    Step.LEARN, Step.COMMIT_ISR,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What one line says about one partition."""

    step: Step
    partition: str
    line: LogLine
    fields: Mapping[str, Field]

    def number(self, name: str) -> int:
        """Returns a field that is a number."""
        value = self.fields[name]
        assert isinstance(value, int)
        return value

    def members(self, name: str) -> frozenset[int]:
        """Returns a field that is a set of broker ids."""
        value = self.fields[name]
        assert isinstance(value, frozenset)
        return value

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in self.fields.items())
        return f"broker {self.line.node}: {self.step}{f' ({shown})' if shown else ''}"


@dataclass(frozen=True, slots=True)
class Row:
    """Lines of a logger whose message begins so; without a step they are nothing."""

    logger: str
    begins: str
    step: Step | None = None
    pattern: re.Pattern[str] = field(default_factory=lambda: re.compile(""))
    thread: re.Pattern[str] | None = None


def _row(logger: str, begins: str, step: Step, pattern: str, thread: str | None = None) -> Row:
    return Row(
        logger, begins, step, re.compile(pattern), None if thread is None else re.compile(thread)
    )


def _nothing(logger: str, *begins: str) -> Iterator[Row]:
    return (Row(logger, text) for text in begins)


_OF_LOG: Final = r"\[UnifiedLog partition=(?P<partition>\S+),.*?"
_OF_BROKER: Final = r"\[Partition (?P<partition>\S+) broker=\d+\] .*?"
_EPOCHS: Final = r"leader epoch (?P<leader_epoch>\d+) from offset (?P<offset>\d+)"
_REGISTERED: Final = (
    r" (?P<partition>\S+) with .*?isr=\[(?P<isr>[\d, ]*)\].*?"
    r"leaderEpoch=(?P<leader_epoch>\d+), partitionEpoch=(?P<partition_epoch>\d+)"
    r".*since it is already"
)

TABLE: Final[Sequence[Row]] = (
    # ---- the controller
    _row(
        "ReplicationControlManager",
        "Replayed PartitionRecord for new partition",
        Step.CREATE,
        r"new partition (?P<partition>\S+) with .*?replicas=\[(?P<replicas>[\d, ]*)\].*?"
        r" isr=\[(?P<isr>[\d, ]*)\].*?elr=\[(?P<elr>[\d, ]*)\].*? leader=(?P<leader>-?\d+),.*?"
        r"leaderEpoch=(?P<leader_epoch>\d+), partitionEpoch=(?P<partition_epoch>\d+)",
    ),
    *(
        _row(
            "ReplicationControlManager",
            f"{kind}partition change for",
            Step.CHANGE,
            r"change for (?P<partition>\S+) with topic ID \S+: (?P<changes>.*)",
        )
        for kind in ("", "UNCLEAN ")
    ),
    _row(
        "ReplicationControlManager",
        "Rejecting AlterPartition request from node",
        Step.REFUSE,
        r"node (?P<proposer>\d+) for (?P<partition>\S+) because it specified ineligible replicas",
    ),
    *_nothing("ReplicationControlManager", ""),
    # ---- roles
    _row(
        "logger",
        "Leader",
        Step.LEAD,
        rf"Leader (?P<partition>\S+) .*?starts at {_EPOCHS} "
        r"with partition epoch (?P<partition_epoch>\d+), "
        r"high watermark (?P<mark>\d+), ISR \[(?P<isr>[\d,]*)\]",
    ),
    _row(
        "logger",
        "Follower",
        Step.FOLLOW,
        rf"Follower (?P<partition>\S+) starts at {_EPOCHS} "
        r"with partition epoch (?P<partition_epoch>\d+) and "
        r"high watermark (?P<mark>\d+)\. Current leader is (?P<leader>-?\d+)",
    ),
    *(
        _row("logger", f"Skipped the become-{role} state", Step.LEARN, f"change for{_REGISTERED}")
        for role in ("leader", "follower")
    ),
    *_nothing(
        "logger", "Skipped the become-", "Creating new partition", "The topic partition",
        "Transitioning", "Stopped fetchers", "Started fetchers", "Handling", "Completed",
        "Received", "Stopping", "Unable", "Ignoring",
    ),
    # ---- the log
    _row(
        "UnifiedLog",
        "Appended message set",
        Step.COPY,
        _OF_LOG + r"last offset: (?P<last>\d+), first offset: (?P<first>\d+)",
        r"ReplicaFetcherThread",
    ),
    _row(
        "UnifiedLog",
        "Appended message set",
        Step.APPEND,
        _OF_LOG + r"last offset: (?P<last>\d+), first offset: (?P<first>\d+)",
        r"^(?!ReplicaAlterLogDirs)",
    ),
    _row(
        "UnifiedLog",
        "Truncating to offset",
        Step.TRUNCATE,
        _OF_LOG + r"to offset (?P<offset>\d+)",
    ),
    _row(
        "UnifiedLog",
        "Truncate and start at offset",
        Step.START_AT,
        _OF_LOG + r"at offset (?P<offset>\d+)",
    ),
    *_nothing(
        "UnifiedLog", "Appended message set", "Setting high watermark", "First unstable offset",
        "Flushing log", "LogSegment", "FileRecords", "Loading producer state", "Reloading from",
        "Producer state recovery", "Truncating", "Duplicate batch", "Incremented l", "Deleting",
        "Rolling", "Rolled", "Searching offset", "Closing", "Non-monotonic", "Skipping batch",
        "Empty active", "Clearing leader epoch", "The topic id",
    ),
    # ---- the partition of a broker
    _row(
        "Partition",
        "Recorded replica",
        Step.RECORD,
        _OF_BROKER + r"replica (?P<follower>\d+) .*? position (?P<offset>\d+)",
    ),
    _row(
        "Partition",
        "High watermark updated",
        Step.ADVANCE,
        _OF_BROKER + r"from \(offset=(?P<before>\d+).*? to \(offset=(?P<mark>\d+)",
    ),
    _row(
        "Partition",
        "Log loaded",
        Step.LOAD,
        _OF_BROKER + r"initial high watermark (?P<mark>\d+)",
    ),
    _row(
        "Partition",
        "Submitting ISR state change PendingExpandIsr",
        Step.PROPOSE,
        _OF_BROKER + r"newInSyncReplicaId=(?P<member>\d+), .*?"
        r"leaderEpoch=(?P<leader_epoch>\d+),.*?partitionEpoch=(?P<partition_epoch>\d+)",
    ),
    _row(
        "Partition",
        "ISR updated to",
        Step.COMMIT_ISR,
        _OF_BROKER + r"updated to (?P<isr>[\d,]*) .*version updated to (?P<partition_epoch>\d+)",
    ),
    *_nothing(
        "Partition", "Submitting ISR state change PendingShrinkIsr", "Skipping update",
        "Progress awaiting", "UnifiedLog already", "Future UnifiedLog", "No checkpointed",
        "Not increasing HWM", "Shrinking ISR", "Ignoring", "Failed to", "The alter partition",
        "Leader ", "The replica state", "Unexpected offset", "Current log directory",
        "Skipping creation", "Offline",
    ),
    # ---- the fetcher of a broker
    _row(
        "ReplicaFetcherThread",
        "Sending fetch request",
        Step.FETCH,
        r"(?<=[{ ])(?P<partition>[\w.-]+)=PartitionData\([^)]*?fetchOffset=(?P<offset>\d+),[^)]*?"
        r"currentLeaderEpoch=Optional\[(?P<leader_epoch>\d+)\], "
        r"lastFetchedEpoch=Optional(?:\[(?P<last_epoch>\d+)\]|\.empty)",
    ),
    _row(
        "ReplicaFetcherThread",
        "Follower received high watermark",
        Step.FOLLOWER_MARK,
        r"received high watermark (?P<received>\d+) .*?(?:to (?P<mark>\d+) )?"
        r"for partition (?P<partition>\S+)",
    ),
    _row(
        "ReplicaFetcherThread",
        "Follower has replica log end offset",
        Step.RECEIVE,
        r"end offset (?P<offset>\d+) for partition (?P<partition>\S+?)\. .*leader hw (?P<mark>\d+)",
    ),
    _row(
        "ReplicaFetcherThread",
        "Follower has replica log end offset",
        Step.COPIED,
        r"end offset (?P<offset>\d+) after .* for partition (?P<partition>\S+)",
    ),
    *(
        _row(
            "ReplicaFetcherThread",
            begins,
            Step.FAIL,
            r"for partition (?P<partition>[\w.-]*-\d+)",
        )
        for begins in ("Found invalid messages", "Error while processing data", "Unexpected error")
    ),
    *_nothing(
        "ReplicaFetcherThread", "Sending", "Truncating partition", "Handling errors", "Error",
        "Remote broker", "There are no", "Retrying", "Ignoring", "Partition", "Based on", "Leader",
        "Received", "Could not", "Skipping", "Reset fetch", "Truncate fully", "Current offset",
        "Starting", "Stopped", "Shutting", "Shutdown", "Node",
    ),
)  # fmt: skip

_ROWS: Final[Mapping[str, Sequence[Row]]] = {
    logger: [row for row in TABLE if row.logger == logger]
    for logger in dict.fromkeys(row.logger for row in TABLE)
}
_CHANGE: Final = re.compile(r"(\w+): (\[[^\]]*\]|[^, ]+) -> (\[[^\]]*\]|[^, ]+)")


@dataclass(slots=True)
class Reading:
    """The events of all partitions, in the order of the clock, and the lines that are none."""

    events: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    lines: int = 0
    unknown: list[LogLine] = field(default_factory=list[LogLine])


def read(lines: Iterable[LogLine]) -> Reading:
    """Returns the events of each partition, in the order of the clock.

    Only partitions whose creation the lines show are kept. Unknown lines are those that name a
    partition that is kept.
    """
    found, unknown = Reading(), list[LogLine]()
    for line in lines:
        found.lines += 1
        events = events_of(line)
        if events is None:
            unknown.append(line)
            continue
        for event in events:
            found.events.setdefault(event.partition, []).append(event)
    for partition, events in [*found.events.items()]:
        if not any(event.step is Step.CREATE for event in events):
            del found.events[partition]
            continue
        events.sort(key=lambda event: event.line.at_ns)  # stable: the order within a file stays
    names = re.compile("|".join(rf"(?<![\w.-]){re.escape(p)}(?![\w.-]|\.\w)" for p in found.events))
    found.unknown += [line for line in unknown if found.events and names.search(line.message)]
    return found


def events_of(line: LogLine) -> Sequence[Event] | None:
    """Returns the events of the line, () if the line is nothing, None if no row fits."""
    rows = _ROWS.get(line.logger)
    if rows is None:
        return ()
    body = line.message.partition("] ")[2] if line.message.startswith("[") else line.message
    for row in rows:
        if not body.startswith(row.begins) or (row.thread and not row.thread.search(line.thread)):
            continue
        if row.step is None:
            return ()
        found = [_event(row.step, line, match) for match in row.pattern.finditer(line.message)]
        if found:
            return found
    return None


def _event(step: Step, line: LogLine, match: re.Match[str]) -> Event:
    groups = {k: v for k, v in match.groupdict().items() if v is not None}
    fields: dict[str, Field] = {}
    for name, text in groups.items():
        if name == "changes":
            for changed, before, after in _CHANGE.findall(text):
                fields[f"{changed} before"] = _field(before)
                fields[changed] = _field(after)
        elif name in SETS:
            fields[name] = _field(f"[{text}]")
        elif name != "partition":
            fields[name] = int(text)
    return Event(step=step, partition=groups["partition"], line=line, fields=fields)


def _field(text: str) -> Field:
    """Returns a set if the text is in brackets; a recovery state is 1 if it is RECOVERING."""
    if text.startswith("["):
        return frozenset(int(x) for x in re.findall(r"\d+", text))
    return int(text) if re.fullmatch(r"-?\d+", text) else int(text == "RECOVERING")


def _shown(value: Field) -> str:
    return f"[{', '.join(map(str, sorted(value)))}]" if isinstance(value, frozenset) else str(value)
