"""The state of the idempotent producer: the client's batches, two replicas, and their producer
state.

Source: KIP-98; KIP-360; ProducerStateManager of Apache Kafka; KAFKA-15591.
Simplified: the spec has one producer id. A batch is one record, and sequences do not wrap. Both
replicas are in sync, so the follower's end offset is the high watermark. A replica that restarts
retains its window (the producer's newest batches). Kafka's snapshot contains only the newest batch
(see the bug `snapshot-keeps-newest`). Deleted records stay in the log below its log start, so that
claims can read these records.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Int, Map, Nothing, Record, Scope, Sort, Spec
from model.variants import Constants

QUIET: Constants = {  # two batches and no faults; a variant adds what its counterexample needs
    "batches": 2,
    "leader_changes": 0,
    "deletes": False,
    "gives_up": False,
}


class TopicPartition(Sort):
    """A partition. It has two replicas: a leader and a follower."""

    prefix = "p"


class Batch(Int):
    """A batch that the application gives to the client. Batches are numbered from 0 in the order in
    which the client sends them.
    """


class ProducerEpoch(Int):
    """The producer epoch, which grows whenever the client resets its sequences."""


class Sequence(Int):
    """The number of a batch within a producer epoch and a partition."""


class Offset(Int):
    """A position in a log, or the end of a log."""


class LeaderEpoch(Int):
    """The leader epoch of a partition: the number of its leader changes."""


class Status(Int):
    """The client's state of a batch: not sent, in flight, acknowledged, or given up."""

    labels = ("UNSENT", "IN_FLIGHT", "ACKED", "FAILED")


UNSENT, IN_FLIGHT, ACKED, FAILED = map(Status, range(4))


class LogRecord(Record):
    """A record of the log: a batch, with its producer epoch and its sequence."""

    batch: Batch
    producer_epoch: ProducerEpoch
    sequence: Sequence


class Log(Record):
    """The log of a partition's leader. The follower has the records below the high watermark."""

    start_offset: Offset  # the records below this offset are deleted
    high_watermark: Offset  # the end of the follower's log
    end_offset: Offset
    record: Map[Offset, LogRecord]


class ProducerState(Record):
    """A replica's state of the producer: the epoch, the latest sequence, and the offsets of the
    newest batches (the *window*).
    """

    is_known: Bool
    producer_epoch: ProducerEpoch
    last_sequence: Sequence
    offset: Map[Sequence, Offset | Nothing]  # the offsets of the batches in the window


class IdempotenceState(Spec):
    batches: Annotated[int, range(1, 9)] = 3
    partitions: Annotated[int, range(1, 4)] = 1
    max_in_flight: Annotated[int, range(1, 6)] = 3  # per partition
    window: Annotated[int, range(1, 6)] = 5
    max_epoch: Annotated[int, range(9)] = 1
    leader_changes: Annotated[int, range(5)] = 1  # per partition
    deletes: bool = True  # retention, or DeleteRecords
    gives_up: bool = True  # the client's delivery.timeout.ms may pass

    producer_epoch: ProducerEpoch
    # the epoch and the sequence of the next batch, if the client's epoch does not grow before
    next_epoch: Map[TopicPartition, ProducerEpoch]
    next_sequence: Map[TopicPartition, Sequence]
    status: Map[Batch, Status]
    sent_to: Map[Batch, TopicPartition | Nothing]
    epoch_of: Map[Batch, ProducerEpoch]
    sequence_of: Map[Batch, Sequence]
    acked_at: Map[Batch, Offset]

    log: Map[TopicPartition, Log]
    leader_epoch: Map[TopicPartition, LeaderEpoch]
    leader_knows: Map[TopicPartition, ProducerState]
    follower_knows: Map[TopicPartition, ProducerState]

    def scope(s) -> Scope:
        return {
            TopicPartition: s.partitions,
            Batch: s.batches,
            ProducerEpoch: s.max_epoch + 1,
            Sequence: s.batches + 1,
            Offset: s.batches * (1 + s.max_epoch) + 1,
            LeaderEpoch: s.leader_changes + 1,
            Status: 4,
        }

    def init(s) -> None: ...
