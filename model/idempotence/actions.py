"""DOC idempotence actions"""

from __future__ import annotations

from model.idempotence.state import (
    ACKED,
    FAILED,
    IN_FLIGHT,
    UNSENT,
    Batch,
    IdempotenceState,
    LogRecord,
    Offset,
    ProducerEpoch,
    ProducerState,
    Sequence,
    TopicPartition,
)
from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    count,
    exists,
    false,
    forall,
    implies,
    ite,
    nothing,
    true,
    when,
)


class IdempotenceActions(IdempotenceState):
    """DOC IdempotenceActions"""

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

    # ---- the client

    def is_in_flight(s, p: TopicPartition, b: Batch) -> Bool:
        return (s.sent_to[b] == p) & (s.status[b] == IN_FLIGHT)

    def none_in_flight(s, p: TopicPartition) -> Bool:
        return forall(~s.is_in_flight(p, b) for b in Batch)

    def is_unresolved(s, p: TopicPartition) -> Bool:
        """A batch of the partition's epoch was given up: nobody knows whether it is written."""
        return exists(
            all_of(s.sent_to[b] == p, s.status[b] == FAILED, s.epoch_of[b] == s.next_epoch[p])
            for b in Batch
        )

    def is_stale(s, p: TopicPartition) -> Bool:
        """The client has taken a larger epoch since it last sent to the partition."""
        return s.next_epoch[p] < s.producer_epoch

    def begins_anew(s, p: TopicPartition) -> Bool:
        """Under a larger epoch, sequences of a partition begin at 0."""
        return s.is_stale(p)

    @action
    def send(s, p: TopicPartition, b: Batch) -> None:
        """The next batch is numbered and sent, unless some of an older epoch are in flight."""
        sequence = ite(s.begins_anew(p), Sequence(0), s.next_sequence[p])
        when(
            s.status[b] == UNSENT,
            forall(implies(c < b, s.status[c] != UNSENT) for c in Batch),
            count(s.is_in_flight(p, c) for c in Batch) < s.max_in_flight,
            ~s.is_unresolved(p),
            implies(s.is_stale(p), s.none_in_flight(p)),
        )
        s.sent_to[b] = p
        s.status[b] = IN_FLIGHT
        s.epoch_of[b] = s.producer_epoch
        s.sequence_of[b] = sequence
        s.next_epoch[p] = s.producer_epoch
        s.next_sequence[p] = sequence + 1

    def is_committed(s, p: TopicPartition, o: Offset) -> Bool:
        return o < s.log[p].high_watermark

    @action(fair="weak")
    def acknowledge(s, p: TopicPartition, b: Batch, o: Offset) -> None:
        """The leader says where the batch is, to its first try or to a retry, once committed."""
        when(
            s.is_in_flight(p, b),
            s.is_duplicate(p, b),
            s.leader_knows[p].offset[s.sequence_of[b]] == o,
            s.is_committed(p, o),
        )
        s.status[b] = ACKED
        s.acked_at[b] = o

    @action
    def give_up(s, p: TopicPartition, b: Batch) -> None:
        """The delivery timeout passes: the application is told that nobody knows."""
        when(true if s.gives_up else false)
        when(s.is_in_flight(p, b), forall(implies(c < b, ~s.is_in_flight(p, c)) for c in Batch))
        s.status[b] = FAILED

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        """The order in which batches in flight are numbered anew: that of sending."""
        return c < b

    def rank(s, p: TopicPartition, b: Batch) -> Sequence:
        """How many batches in flight go before."""
        before = count(s.is_in_flight(p, c) & s.goes_before(c, b) for c in Batch)
        rank = Sequence(0)
        for n in range(1, s.max_in_flight):
            rank = ite(before == n, Sequence(n), rank)
        return rank

    def bump_epoch(s, p: TopicPartition) -> None:
        """The next epoch; what is in flight to the partition is numbered from 0."""
        larger = s.producer_epoch + 1
        when(larger <= s.max_epoch)
        in_flight = count(s.is_in_flight(p, b) for b in Batch)
        following = Sequence(0)
        for n in range(1, s.max_in_flight + 1):
            following = ite(in_flight == n, Sequence(n), following)
        for b in Batch:
            moves = s.is_in_flight(p, b)
            rank = s.rank(p, b)
            s.epoch_of[b] = ite(moves, larger, s.epoch_of[b])
            s.sequence_of[b] = ite(moves, rank, s.sequence_of[b])
        s.producer_epoch = larger
        s.next_epoch[p] = larger
        s.next_sequence[p] = following

    @action(fair="weak")
    def refuse(s, p: TopicPartition, b: Batch) -> None:
        """The lowest batch in flight is out of order: the client bumps its epoch and goes on."""
        when(
            s.is_in_flight(p, b),
            forall(implies(c < b, ~s.is_in_flight(p, c)) for c in Batch),
            ~s.is_duplicate(p, b),
            ~s.continues(p, b),
        )
        s.bump_epoch(p)

    @action(fair="weak")
    def resolve(s, p: TopicPartition) -> None:
        """With a batch given up and none in flight, the client bumps its epoch and goes on."""
        when(s.is_unresolved(p), s.none_in_flight(p))
        s.bump_epoch(p)
