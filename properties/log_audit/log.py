"""The logs of replicas as plain values: batches with their locations, and the files of metadata.

Most checks compare neighbouring batches, but only within a *contiguous run*. In a contiguous run,
each batch begins at the offset where the previous batch ends. Between two contiguous runs, bytes
may be damaged, or compaction may have removed offsets.

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

CONSUMER_OFFSETS: Final = "__consumer_offsets-"  # the group coordinator appends to these logs
SEQUENCE_NUMBERS: Final = 2**31  # sequence numbers wrap to 0 after the largest int32


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The parts of a record that must be equal on all replicas.

    `content` is a text that identifies the timestamp, the key, the value and the headers of the
    record.
    """

    offset: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One record batch: its location, its header, and the parts of its content that checks need.

    If the content of the batch is unknown, `fault` is the reason: a wrong checksum, records that
    cannot be read, or a format before version 2. `marker` is `commit` or `abort` for the batch of a
    transaction marker, and empty for a batch of records.
    """

    segment: str  # the file's name
    position: int  # of its first byte
    size: int  # in bytes
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
        """True if the checksum is right, the records can be read, and the format is version 2."""
        return not self.fault

    @property
    def compacted(self) -> bool:
        """True if some records inside the batch are missing. Only compaction produces such a
        batch.
        """
        return self.sound and len(self.records) <= self.last_offset - self.base_offset

    @property
    def last_sequence(self) -> int:
        return (self.base_sequence + self.last_offset - self.base_offset) % SEQUENCE_NUMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Bytes at the end of a segment that form no batch.

    If `torn` is True, the bytes are zeros or the beginning of a batch.
    """

    segment: str
    position: int
    size: int
    offset: int  # the next offset after the segment's batches
    torn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """An entry of the index of aborted transactions: one transaction that was aborted."""

    segment: str
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerState:
    """The state that a broker stores for one producer id. A field is -1 if its value is unknown."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    coordinator_epoch: int
    first_offset: int  # of its open transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A producer snapshot: the states of the producers of a log, computed from the records below
    `offset`.
    """

    offset: int
    producers: tuple[ProducerState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMetadata:
    """The metadata of a replica's log, read from the files of the log directory.

    - `high_watermark`, `leader_epochs`, `aborted` and `snapshot` are None if their file does not
      exist.
    - `leader_epochs` has pairs of a leader epoch and its start offset.
    - `cleaned_to` is the offset below which the cleaner has compacted the log.
    - `stopped` is True if the broker shut down cleanly.
    - `snapshot` is the newest producer snapshot. A broker that starts reads only this snapshot.
    """

    replica: str
    partition: str
    segments: tuple[str, ...]  # file names, in order
    high_watermark: int | None = None
    cleaned_to: int = 0
    leader_epochs: tuple[tuple[int, int], ...] | None = None
    aborted: tuple[Aborted, ...] | None = None
    snapshot: Snapshot | None = None
    stopped: bool = False

    @property
    def is_sequenced(self) -> bool:
        """True if brokers check the sequence numbers of the log. They do so in all topics except
        `__consumer_offsets`.
        """
        return not self.partition.startswith(CONSUMER_OFFSETS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLog:
    """The log of one replica of a topic partition: its batches, in the order of its segment
    files.
    """

    metadata: LogMetadata
    batches: tuple[Batch, ...] = ()
    fragments: tuple[Fragment, ...] = ()

    @property
    def name(self) -> tuple[str, str]:
        return self.metadata.partition, self.metadata.replica

    @property
    def end_offset(self) -> int:
        """The log end offset: the offset that the next record would get."""
        newest_base = base_offset(self.metadata.segments[-1])
        return self.batches[-1].last_offset + 1 if self.batches else newest_base

    @property
    def sound(self) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.batches if batch.sound)

    def neighbours(self) -> Iterator[tuple[Batch, Batch]]:
        """Yields each pair of consecutive batches that the audit could read (`sound`), with no
        other bytes between them.

        The offsets of the two batches may overlap, or have a gap between them.
        """
        for one, two in pairwise(self.batches):
            between = any(one.segment <= f.segment < two.segment for f in self.fragments)
            if one.sound and two.sound and not between:
                yield one, two

    def contiguous_runs(self) -> list[list[Batch]]:
        """Returns the batches that the audit could read (`sound`), as a list of contiguous runs. In
        a run, each batch begins at the offset where the previous batch ends.
        """
        joined = {
            id(two): one for one, two in self.neighbours() if two.base_offset == one.last_offset + 1
        }
        runs: list[list[Batch]] = []
        for batch in self.sound:
            if id(batch) in joined:
                runs[-1].append(batch)
            else:
                runs.append([batch])
        return runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorEntry:
    """The newest entry of a transactional id in the log of the transaction coordinator."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: CoordinatorState
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """The logs of one audit: the logs of all replicas, and the entries of the transaction
    coordinators.
    """

    replicas: tuple[ReplicaLog, ...]
    coordinated: tuple[CoordinatorEntry, ...] = ()

    def partitions(self) -> dict[str, list[ReplicaLog]]:
        """Maps each topic partition to its replicas, sorted by replica name."""
        found: dict[str, list[ReplicaLog]] = {}
        for log in sorted(self.replicas, key=lambda log: log.name):
            found.setdefault(log.metadata.partition, []).append(log)
        return found


def base_offset(segment: str) -> int:
    return int(segment.partition(".")[0])


def by_producer(batches: list[Batch] | tuple[Batch, ...]) -> dict[int, list[Batch]]:
    """Maps each producer id to its batches, in the order of `batches`. Batches without a producer
    id are not included.
    """
    found: dict[int, list[Batch]] = {}
    for batch in batches:
        if batch.producer_id >= 0:
            found.setdefault(batch.producer_id, []).append(batch)
    return found
