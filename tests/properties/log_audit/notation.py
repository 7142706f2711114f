"""A line notation for logs, used in tests.

    A orders-0 hw=5 stopped         a replica of a topic partition; its batches follow
    0-2  e1                         a batch at offsets 0 to 2, of leader epoch 1
    3    e1 p7/0 s0 txn             producer 7, epoch 0, base sequence 0, of a transaction
    4    e1 p7/0 abort c2           an abort marker, of coordinator epoch 2
    4    e1 p7/0 commit c2          a commit marker
    5    e1 t60000                  its newest record has this timestamp, in ms
    6-9  e1 has 6,9                 compaction left only the records 6 and 9
    6-9  e1 has -                   compaction left no record
    10   e1 =x                      records whose contents are x
    11   e1 bad checksum            unreadable; also `bad records`, and `bad old` for an old format
    ---                             the next segment begins, at the next offset
    --- 15                          the next segment begins, at offset 15
    torn 17                         17 bytes at the end of the segment: the beginning of a batch
    junk 17                         17 bytes at the end of the segment: no beginning of a batch
    coordinator one p7/0 Ongoing orders-0

The last line is an entry in the log of a transaction coordinator. Its transactional id is `one`;
producer 7 has epoch 0 and an ongoing transaction with the partition `orders-0`.

The line of a replica may have these fields:

    hw=5                            its high watermark
    cleaned=3                       the offset that its cleaner reached
    epochs=0@0,1@3                  leader epoch 0 starts at offset 0, leader epoch 1 at offset 3
    aborted=7:3-4                   an aborted transaction of producer 7, at offsets 3 to 4
    stopped                         it was shut down cleanly
    snapshot=5:7/0/1/4/2/-1         its newest snapshot, of the log below offset 5

In a snapshot, each producer has its id (7), epoch (0), last sequence (1), last offset (4),
coordinator epoch (2), and the first offset of its open transaction (-1: none). Commas separate
producers, epochs and aborted transactions. A batch has 100 bytes; `#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from properties.log_audit.log import (
    Aborted,
    Batch,
    CoordinatorEntry,
    CoordinatorState,
    Fault,
    Fragment,
    LogMetadata,
    Logs,
    ProducerState,
    Record,
    ReplicaLog,
    Snapshot,
    base_offset,
)

BATCH_BYTES: Final = 100
CONTENT: Final = "x"


class NotationFault(ValueError):
    """The error for a line that is not in the notation; it has the line's number and text."""


@dataclass(slots=True)
class _Replica:
    metadata: LogMetadata
    batches: list[Batch] = field(default_factory=list[Batch])
    fragments: list[Fragment] = field(default_factory=list[Fragment])
    segments: list[str] = field(default_factory=list[str])
    position: int = 0

    @property
    def next_offset(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else 0

    def begin(self, offset: int) -> None:
        self.segments.append(segment(offset))
        self.position = 0

    def made(self) -> ReplicaLog:
        if not self.segments:
            self.begin(0)
        aborted = self.metadata.aborted and tuple(
            replace(entry, segment=self.segments[-1]) for entry in self.metadata.aborted
        )
        return ReplicaLog(
            metadata=replace(self.metadata, segments=tuple(self.segments), aborted=aborted),
            batches=tuple(self.batches),
            fragments=tuple(self.fragments),
        )


def segment(offset: int) -> str:
    """Returns the name of the segment file that begins at the offset.

    >>> segment(42)
    '00000000000000000042.log'
    """
    return f"{offset:020}.log"


def logs(text: str) -> Logs:
    """Returns the logs that lines in this notation describe."""
    replicas: list[_Replica] = []
    coordinated: list[CoordinatorEntry] = []
    for number, raw in enumerate(text.splitlines()):
        words = raw.split("#")[0].split()
        if not words:
            continue
        try:
            if words[0] == "coordinator":
                coordinated.append(_coordinated(words[1:]))
            elif words[0] == "---":
                to = int(words[1]) if words[1:] else replicas[-1].next_offset
                replicas[-1].begin(to)
            elif words[0] in ("torn", "junk"):
                _end(replicas[-1], int(words[1]), torn=words[0] == "torn")
            elif words[0][0].isdigit():
                _append(replicas[-1], words)
            else:
                replicas.append(_Replica(_metadata(words)))
        except (KeyError, IndexError, ValueError) as fault:
            raise NotationFault(f"line {number + 1}: {raw.strip()!r}: {fault}") from fault
    return Logs(
        replicas=tuple(replica.made() for replica in replicas), coordinated=tuple(coordinated)
    )


def _pair(word: str, by: str) -> tuple[int, int]:
    left, _, right = word.partition(by)
    return int(left), int(right)


def _metadata(words: list[str]) -> LogMetadata:
    fields: dict[str, Any] = {}
    for word in words[2:]:
        name, _, value = word.partition("=")
        match name:
            case "hw":
                fields["high_watermark"] = int(value)
            case "cleaned":
                fields["cleaned_to"] = int(value)
            case "epochs":
                fields["leader_epochs"] = tuple(_pair(e, "@") for e in value.split(",") if e)
            case "aborted":
                fields["aborted"] = tuple(_aborted(entry) for entry in value.split(",") if entry)
            case "snapshot":
                fields["snapshot"] = _snapshot(value)
            case "stopped":
                fields["stopped"] = True
            case _:
                raise ValueError(f"{name} is not a field of a replica")
    return LogMetadata(replica=words[0], partition=words[1], segments=(), **fields)


def _aborted(word: str) -> Aborted:
    producer_id, _, offsets = word.partition(":")
    first, last = _pair(offsets, "-")
    return Aborted(segment="", producer_id=int(producer_id), first_offset=first, last_offset=last)


def _snapshot(word: str) -> Snapshot:
    offset, _, producers = word.partition(":")
    return Snapshot(
        offset=int(offset),
        producers=tuple(
            ProducerState(
                producer_id=fields[0],
                producer_epoch=fields[1],
                last_sequence=fields[2],
                last_offset=fields[3],
                coordinator_epoch=fields[4],
                first_offset=fields[5],
            )
            for entry in producers.split(",")
            if entry
            for fields in [[int(number) for number in entry.split("/")]]
        ),
    )


def _coordinated(words: list[str]) -> CoordinatorEntry:
    transactional_id, producer, state, *partitions = words
    producer_id, producer_epoch = _pair(producer[1:], "/")
    states: dict[str, CoordinatorState] = {name: name for name in get_args(CoordinatorState)}
    return CoordinatorEntry(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        state=states[state],
        partitions=tuple(partitions),
    )


def _end(replica: _Replica, size: int, *, torn: bool) -> None:
    if not replica.segments:
        replica.begin(0)
    replica.fragments.append(
        Fragment(
            segment=replica.segments[-1],
            position=replica.position,
            size=size,
            offset=max(replica.next_offset, base_offset(replica.segments[-1])),
            torn=torn,
        )
    )


_NUMBERS: Final = {
    "e": "leader_epoch",
    "s": "base_sequence",
    "c": "coordinator_epoch",
    "t": "max_timestamp_ms",
}
_KINDS: Final[dict[str, dict[str, Any]]] = {
    "txn": {"transactional": True},
    "control": {"control": True},
    "commit": {"transactional": True, "control": True, "marker": "commit"},
    "abort": {"transactional": True, "control": True, "marker": "abort"},
}


def _append(replica: _Replica, words: list[str]) -> None:
    first, _, last = words[0].partition("-")
    begins, ends = int(first), int(last or first)
    if not replica.segments:
        replica.begin(begins)
    fields: dict[str, Any] = {"has": range(begins, ends + 1), "content": CONTENT}
    rest = iter(words[1:])
    for word in rest:
        fields.update(_batch_fields(word, rest))
    has, content = fields.pop("has"), fields.pop("content")
    if not fields.get("fault"):
        fields["records"] = tuple(Record(offset=offset, content=content) for offset in has)
    replica.batches.append(
        Batch(
            segment=replica.segments[-1],
            position=replica.position,
            size=BATCH_BYTES,
            base_offset=begins,
            last_offset=ends,
            **fields,
        )
    )
    replica.position += BATCH_BYTES


def _batch_fields(word: str, rest: Iterator[str]) -> dict[str, Any]:
    if word in _KINDS:
        return _KINDS[word]
    if word == "bad":
        return {"fault": {name: name for name in get_args(Fault)}[next(rest)]}
    if word == "has":
        return {"has": [int(offset) for offset in next(rest).split(",") if offset != "-"]}
    if word[0] == "p":
        producer_id, producer_epoch = _pair(word[1:], "/")
        return {"producer_id": producer_id, "producer_epoch": producer_epoch}
    if word[0] == "=":
        return {"content": word[1:]}
    return {_NUMBERS[word[0]]: int(word[1:])}
