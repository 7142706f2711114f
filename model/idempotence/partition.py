"""A partition's two replicas and what each knows of the producer: how retries are told from news.

A leader knows the producer's epoch, its last sequence, and the last few batches with their offsets:
the *window*. A batch of the window is acknowledged again and not appended; one that continues is
appended; any other is out of order. A follower builds the same knowledge from what it copies, and
has it when it leads.

Source: KIP-98; KIP-360; ProducerStateManager of Apache Kafka; KAFKA-15591.
Simplified: one producer id; a batch is one record and sequences do not wrap; both replicas are in
sync, so the follower's end is the high watermark. A replica that restarts knows its window again
(Kafka's snapshot keeps its newest batch only: the variant `snapshot-keeps-newest`). What retention
deletes stays in the log of the spec, below its start: claims speak of it.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Sort,
    Spec,
    action,
    all_of,
    any_of,
    false,
    ite,
    nothing,
    true,
    when,
)


class TopicPartition(Sort):
    """A log, its leader and its follower."""

    prefix = "p"


class Batch(Int):
    """What the application sent, numbered from 0."""


class ProducerEpoch(Int):
    """Larger after every reset of the client's sequences."""


class Sequence(Int):
    """Numbers the batches of an epoch in a partition."""


class Offset(Int):
    """A position in a log, or the end of one."""


class LeaderEpoch(Int):
    """Counts the leaders of a partition."""


class Status(Int):
    """What the client knows of a batch."""

    labels = ("UNSENT", "IN_FLIGHT", "ACKED", "FAILED")


UNSENT, IN_FLIGHT, ACKED, FAILED = map(Status, range(4))


class LogRecord(Record):
    batch: Batch
    producer_epoch: ProducerEpoch
    sequence: Sequence


class Log(Record):
    start_offset: Offset  # below it all is deleted
    high_watermark: Offset  # the follower's end
    end_offset: Offset
    record: Map[Offset, LogRecord]


class ProducerState(Record):
    """What a replica knows of the producer."""

    is_known: Bool
    producer_epoch: ProducerEpoch
    last_sequence: Sequence
    offset: Map[Sequence, Offset | Nothing]  # of the batches in the window


class Partitions(Spec):
    """What leaders and followers do, by the rules of today."""

    batches: Annotated[int, range(1, 9)] = 3
    partitions: Annotated[int, range(1, 4)] = 1
    max_in_flight: Annotated[int, range(1, 6)] = 3  # of a partition
    window: Annotated[int, range(1, 6)] = 5
    max_epoch: Annotated[int, range(9)] = 1
    leader_changes: Annotated[int, range(5)] = 1  # of each partition
    deletes: bool = True  # retention, or DeleteRecords
    gives_up: bool = True  # the client, when delivery.timeout.ms has passed

    producer_epoch: ProducerEpoch
    # the numbers of the next batch for a partition, if the epoch is still the client's
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

    def init(s) -> None:
        """Nothing was sent."""

    # ---- what a leader tells apart

    def is_held(s, p: TopicPartition, o: Offset) -> Bool:
        return o < s.log[p].end_offset

    def is_duplicate(s, p: TopicPartition, b: Batch) -> Bool:
        """The batch is in the window."""
        known = s.leader_knows[p]
        return all_of(
            known.is_known,
            known.producer_epoch == s.epoch_of[b],
            known.offset[s.sequence_of[b]] != nothing,
        )

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        """The first sequence; any, where something was: it may be of this producer, and gone."""
        return (sequence == 0) | (s.log[p].end_offset > 0)

    def continues(s, p: TopicPartition, b: Batch) -> Bool:
        """The batch is the next of its epoch, or the first of a larger one."""
        known, sequence = s.leader_knows[p], s.sequence_of[b]
        same = known.producer_epoch == s.epoch_of[b]
        return any_of(
            ~known.is_known & s.begins_unknown(p, sequence),
            known.is_known & same & (sequence == known.last_sequence + 1),
            all_of(known.is_known, known.producer_epoch < s.epoch_of[b], sequence == 0),
        )

    def keeps(s, p: TopicPartition, sequence: Sequence, newer: Sequence) -> Bool:
        """A batch is in the window still, when a newer one enters it."""
        return newer < sequence + s.window

    def learn(s, p: TopicPartition, known: ProducerState, record: LogRecord, at: Offset) -> None:
        """A replica that appends a record knows its producer by it."""
        same = known.is_known & (known.producer_epoch == record.producer_epoch)
        for q in Sequence:
            stays = all_of(same, q < record.sequence, s.keeps(p, q, record.sequence))
            known.offset[q] = ite(q == record.sequence, at, ite(stays, known.offset[q], nothing))
        known.is_known = true
        known.producer_epoch = record.producer_epoch
        known.last_sequence = record.sequence

    def lose(s, known: ProducerState, forgets: Bool) -> None:
        """A replica forgets its producer, where it does."""
        known.is_known = known.is_known & ~forgets
        known.producer_epoch = ite(forgets, ProducerEpoch(0), known.producer_epoch)
        known.last_sequence = ite(forgets, Sequence(0), known.last_sequence)
        for q in Sequence:
            known.offset[q] = ite(forgets, nothing, known.offset[q])

    # ---- what replicas do

    @action(fair="weak")
    def append(s, p: TopicPartition, b: Batch) -> None:
        """A batch that continues is appended: a first try, a retry, a copy that comes late."""
        end = s.log[p].end_offset
        when(
            s.sent_to[b] == p,
            (s.status[b] == IN_FLIGHT) | (s.status[b] == FAILED),
            ~s.is_duplicate(p, b),
            s.continues(p, b),
        )
        record = LogRecord(batch=b, producer_epoch=s.epoch_of[b], sequence=s.sequence_of[b])
        s.log[p].record[end] = record
        s.log[p].end_offset = end + 1
        s.learn(p, s.leader_knows[p], record, end)

    def may_copy(s, p: TopicPartition) -> Bool:
        """A follower does not ask whether a record continues: its leader did."""
        return true

    @action(fair="weak")
    def copy(s, p: TopicPartition) -> None:
        """The follower copies a record, which is committed by that."""
        copied = s.log[p].high_watermark
        record = s.log[p].record[copied]
        when(copied < s.log[p].end_offset, s.may_copy(p))
        s.learn(p, s.follower_knows[p], record, copied)
        s.log[p].high_watermark = copied + 1

    @action
    def change_leader(s, p: TopicPartition) -> None:
        """The follower leads with what it knows; the leader cuts its log and follows."""
        copied = s.log[p].high_watermark
        when(s.leader_epoch[p] < s.leader_changes)
        s.leader_epoch[p] = s.leader_epoch[p] + 1
        for o in Offset:
            s.log[p].record[o] = ite(o < copied, s.log[p].record[o], LogRecord.blank())
        s.log[p].end_offset = copied
        s.leader_knows[p] = s.follower_knows[p]
        s.restart(p)

    def restart(s, p: TopicPartition) -> None:
        """What the old leader knows when it has cut its log: what its successor does."""

    def is_retried(s, p: TopicPartition, o: Offset) -> Bool:
        b = s.log[p].record[o].batch
        return (s.status[b] == IN_FLIGHT) | (s.status[b] == FAILED)

    @action
    def delete(s, p: TopicPartition) -> None:
        """The oldest record is deleted; retention is longer than a client retries."""
        start = s.log[p].start_offset
        when(true if s.deletes else false)
        when(start < s.log[p].high_watermark, ~s.is_retried(p, start))
        s.log[p].start_offset = start + 1
        s.forget(p, start + 1)

    def forget(s, p: TopicPartition, start: Offset) -> None:
        """What replicas forget with what is deleted: nothing, until the producer expires."""
