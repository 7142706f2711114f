"""What brokers keep of topic partitions, as plain values: batches at their places, and what is
written beside them.

Most checks ask about neighbours, and what is missing between two batches excuses almost anything:
a batch whose checksum is wrong, bytes that hold no batch, offsets that compaction took away. So
they ask within a *stretch*: batches of which each begins where the one before it ends.

Source: Kafka documentation, "Log", "Message Format"; LogSegment, LeaderEpochCheckpointFile,
TransactionIndex and OffsetCheckpointFile of Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Fault = Literal["", "checksum", "records", "old"]
Marker = Literal["", "abort", "commit"]
CoordinatorState = Literal[
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"
]

SEQUENCE_NUMBERS: Final = 2**31  # sequence numbers wrap to 0 behind the largest int32


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as far as replicas must agree on it; `content` tells its time, key, value, headers
    apart from any other's.
    """

    offset: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch: where it lies, what its header says, and what came of reading it.

    `fault` says why nothing more is known of it: its checksum is wrong, its records are none though
    the checksum is right, or it is of a format before version 2. `marker` is what a control batch
    says of a transaction; empty for other control batches.
    """

    segment: str  # the file's name
    position: int  # its first byte
    size: int  # bytes
    base_offset: int
    last_offset: int
    leader_epoch: int = -1
    fault: Fault = ""
    max_timestamp_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: bool = False
    marker: Marker = ""
    coordinator_epoch: int = -1
    records: tuple[Record, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether the header can be believed."""
        return not self.fault

    @property
    def thinned(self) -> bool:
        """Whether records are missing inside, as only compaction leaves it."""
        return self.sound and len(self.records) <= self.last_offset - self.base_offset

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; of a batch that has a sequence."""
        return (self.base_sequence + self.last_offset - self.base_offset) % SEQUENCE_NUMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Bytes up to the end of a segment that hold no batch.

    A torn batch begins like one and ends too early, or is all zeros.
    """

    segment: str
    position: int
    size: int
    offset: int  # that comes next, as far as the segment tells
    torn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """An entry of an aborted-transaction index."""

    segment: str
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """What a broker remembers of a producer id; -1 for what it does not know."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    coordinator_epoch: int
    first_offset: int  # of its open transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What a broker remembered of the producers of all that lies below an offset."""

    offset: int
    producers: tuple[ProducerState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What lies beside the batches of a replica's log; None where the file is not there.

    `leader_epochs` are pairs of an epoch and the offset at which it starts. Below `cleaned_to` the
    replica was compacted. `stopped` says that the broker was shut down in order. Of the snapshots
    of its producers the newest is kept: a broker that starts reads no other.
    """

    replica: str
    partition: str
    segments: tuple[str, ...]  # file names, in their order
    high_watermark: int | None = None
    cleaned_to: int = 0
    leader_epochs: tuple[tuple[int, int], ...] | None = None
    aborted: tuple[Aborted, ...] | None = None
    snapshot: Snapshot | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLog:
    """A replica of a topic partition: its batches in the order of the files."""

    beside: Beside
    batches: tuple[Batch, ...] = ()
    fragments: tuple[Fragment, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        return self.beside.partition, self.beside.replica

    @property
    def end_offset(self) -> int:
        """The offset that comes next."""
        begun = base_offset(self.beside.segments[-1])
        return self.batches[-1].last_offset + 1 if self.batches else begun

    @property
    def sound(self) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.batches if batch.sound)

    def neighbours(self) -> Iterator[tuple[Batch, Batch]]:
        """Sound batches with nothing between them, whatever their offsets."""
        for one, two in pairwise(self.batches):
            between = any(one.segment <= f.segment < two.segment for f in self.fragments)
            if one.sound and two.sound and not between:
                yield one, two

    def stretches(self) -> list[list[Batch]]:
        """The sound batches, cut wherever something is or may be missing."""
        joined = {
            id(two): one for one, two in self.neighbours() if two.base_offset == one.last_offset + 1
        }
        stretches: list[list[Batch]] = []
        for batch in self.sound:
            if id(batch) in joined:
                stretches[-1].append(batch)
            else:
                stretches.append([batch])
        return stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinated:
    """What the transaction coordinator's log says last of a transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: CoordinatorState
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """All that is audited together."""

    replicas: tuple[ReplicaLog, ...]
    coordinated: tuple[Coordinated, ...] = ()

    def partitions(self) -> dict[str, list[ReplicaLog]]:
        """The replicas of each topic partition, by the replicas' names."""
        found: dict[str, list[ReplicaLog]] = {}
        for log in sorted(self.replicas, key=lambda log: log.name):
            found.setdefault(log.beside.partition, []).append(log)
        return found


def base_offset(segment: str) -> int:
    """The offset that a segment's file is named after."""
    return int(segment.partition(".")[0])


def by_producer(batches: list[Batch] | tuple[Batch, ...]) -> dict[int, list[Batch]]:
    """The batches of each producer id, in their order."""
    found: dict[int, list[Batch]] = {}
    for batch in batches:
        if batch.producer_id >= 0:
            found.setdefault(batch.producer_id, []).append(batch)
    return found
