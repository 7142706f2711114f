"""The actions of the idempotent producer: replicas append and copy, the client sends and retries.

A leader stores the producer's epoch, its latest sequence, and its newest batches. The stored
batches are the *window*. If a batch is in the window, the leader does not append it, and
acknowledges it again. The leader appends the next batch of the producer. It refuses every other
batch as out of order. A follower computes the same state from the records that it copies.

A client numbers the batches of a partition. It has at most a few batches in flight, and retries
each batch until the leader answers it. The client moves to a larger producer epoch in two cases:
the lowest batch in flight is refused as out of order, or the client gave up a batch. It then
numbers its batches in flight from 0.

The table lists all actions (`Next` in TLA+); WF is weakly fair, and the others are not fair.

    replicas     WF append, WF copy, change_leader, delete
    client       send, WF acknowledge, give_up, WF refuse, WF resolve

Source: KIP-98; KIP-360; TransactionManager of Apache Kafka's client; KAFKA-12152.
Simplified: a batch that got a new number does not arrive under its old number. A batch that the
client gave up may still arrive, until the leader has seen a larger epoch.
"""

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
    # ---- duplicates and order

    def is_held(s, p: TopicPartition, o: Offset) -> Bool:
        return o < s.log[p].end_offset

    def is_duplicate(s, p: TopicPartition, b: Batch) -> Bool:
        """Returns True if the batch is in the leader's window (the producer's newest batches, which
        the leader stores). The leader then detects the batch as a duplicate.
        """
        known = s.leader_knows[p]
        return all_of(
            known.is_known,
            known.producer_epoch == s.epoch_of[b],
            known.offset[s.sequence_of[b]] != nothing,
        )

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        """Returns True if the leader accepts `sequence` as the first sequence of a producer that it
        does not know.

        If the partition never had a record, the leader accepts only the sequence 0. Otherwise it
        accepts any sequence, because it may have forgotten the producer. Kafka up to 4.3 checks the
        first sequence only in transactions of version 2. Without this check, the version `kip-360`
        breaks the claim `in_order_without_gaps` in 3 steps (KAFKA-15591).
        """
        return (sequence == 0) | (s.log[p].end_offset > 0)

    def continues(s, p: TopicPartition, b: Batch) -> Bool:
        """Returns True if the leader accepts the batch as the producer's next batch.

        If the leader knows the producer, the batch must have the next sequence of the producer's
        epoch, or the sequence 0 of a larger epoch. If the leader does not know the producer,
        `begins_unknown` decides.
        """
        known, sequence = s.leader_knows[p], s.sequence_of[b]
        same = known.producer_epoch == s.epoch_of[b]
        return any_of(
            ~known.is_known & s.begins_unknown(p, sequence),
            known.is_known & same & (sequence == known.last_sequence + 1),
            all_of(known.is_known, known.producer_epoch < s.epoch_of[b], sequence == 0),
        )

    def keeps(s, p: TopicPartition, sequence: Sequence, newer: Sequence) -> Bool:
        """Returns True if the batch with the sequence `sequence` stays in the leader's window after
        the leader has appended the batch with the sequence `newer`.

        The leader detects retries of the batches in its window as duplicates. With a window of one
        batch, the claim `at_most_once` breaks (bug `window-of-one`, 6 steps; KAFKA-5494).
        """
        return newer < sequence + s.window

    def learn(s, p: TopicPartition, known: ProducerState, record: LogRecord, at: Offset) -> None:
        """Updates a replica's producer state `known` with the record that the replica has appended
        at the offset `at`.
        """
        same = known.is_known & (known.producer_epoch == record.producer_epoch)
        for q in Sequence:
            stays = all_of(same, q < record.sequence, s.keeps(p, q, record.sequence))
            known.offset[q] = ite(q == record.sequence, at, ite(stays, known.offset[q], nothing))
        known.is_known = true
        known.producer_epoch = record.producer_epoch
        known.last_sequence = record.sequence

    def lose(s, known: ProducerState, forgets: Bool) -> None:
        """If `forgets` is true, clears `known`, which is what a replica knows of the producer."""
        known.is_known = known.is_known & ~forgets
        known.producer_epoch = ite(forgets, ProducerEpoch(0), known.producer_epoch)
        known.last_sequence = ite(forgets, Sequence(0), known.last_sequence)
        for q in Sequence:
            known.offset[q] = ite(forgets, nothing, known.offset[q])

    # ---- replicas

    @action(fair="weak")
    def append(s, p: TopicPartition, b: Batch) -> None:
        """The leader appends the producer's next batch. The batch may be a first attempt, a retry,
        or a copy that arrives late.

        Kafka: ProducerAppendInfo.checkSequence, ProducerStateEntry.findDuplicateBatch.
        Simplified: a batch is one record.

        Without the guard that the batch is the next one of its producer epoch (`continues`), the
        claim `in_order_without_gaps` breaks in 3 steps.
        """
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
        """Returns True always: a follower copies a record without a check of its sequence.

        If a follower checks the sequence, the claim `followers_can_copy` breaks (bug
        `checks-copies`, 7 steps; KAFKA-6003).
        """
        return true

    @action(fair="weak")
    def copy(s, p: TopicPartition) -> None:
        """The follower copies the next record of the leader's log, and the record is committed.

        Kafka: UnifiedLog.appendAsFollower.
        Simplified: copying and committing are one step.

        Without the guard that the leader's log has such a record, the claim `at_most_once` breaks
        in 3 steps.
        """
        copied = s.log[p].high_watermark
        record = s.log[p].record[copied]
        when(copied < s.log[p].end_offset, s.may_copy(p))
        s.learn(p, s.follower_knows[p], record, copied)
        s.log[p].high_watermark = copied + 1

    @action
    def change_leader(s, p: TopicPartition) -> None:
        """The follower becomes leader with its own producer state. The old leader truncates its log
        and becomes the follower.

        Kafka: ProducerStateManager.truncateAndReload.
        Simplified: after this step, both logs are equal.

        If the old leader restores only the newest batch of its window, the claim `at_most_once`
        breaks (bug `snapshot-keeps-newest`, 10 steps).
        """
        copied = s.log[p].high_watermark
        when(s.leader_epoch[p] < s.leader_changes)
        s.leader_epoch[p] = s.leader_epoch[p] + 1
        for o in Offset:
            s.log[p].record[o] = ite(o < copied, s.log[p].record[o], LogRecord.blank())
        s.log[p].end_offset = copied
        s.leader_knows[p] = s.follower_knows[p]
        s.restart(p)

    def restart(s, p: TopicPartition) -> None:
        """The old leader restarts as a follower with its whole producer state, so the method
        changes no variable.
        """

    def is_retried(s, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the client may still send the batch of the record at the offset `o`."""
        b = s.log[p].record[o].batch
        return (s.status[b] == IN_FLIGHT) | (s.status[b] == FAILED)

    @action
    def delete(s, p: TopicPartition) -> None:
        """The leader and the follower delete the oldest record, if the client no longer retries the
        batch of the record.

        Kafka: UnifiedLog.deleteOldSegments, or DeleteRecords.
        Simplified: the log start moves, and the deleted record stays in the state.

        Every claim also holds without the guard of this action.
        """
        start = s.log[p].start_offset
        when(true if s.deletes else false)
        when(start < s.log[p].high_watermark, ~s.is_retried(p, start))
        s.log[p].start_offset = start + 1
        s.forget(p, start + 1)

    def forget(s, p: TopicPartition, start: Offset) -> None:
        """Does nothing: replicas retain the producer state when records are deleted (KIP-360).

        If replicas forget a producer when its latest record is deleted, the version `kip-98` breaks
        the claim `the_next_is_accepted` in 6 steps (KAFKA-7190).
        """

    # ---- the client

    def is_in_flight(s, p: TopicPartition, b: Batch) -> Bool:
        return (s.sent_to[b] == p) & (s.status[b] == IN_FLIGHT)

    def none_in_flight(s, p: TopicPartition) -> Bool:
        return forall(~s.is_in_flight(p, b) for b in Batch)

    def is_unresolved(s, p: TopicPartition) -> Bool:
        """Returns True if the client gave up a batch of the partition, and has not moved to a new
        epoch for the partition since then. The given-up batch may be in the log.
        """
        return exists(
            all_of(s.sent_to[b] == p, s.status[b] == FAILED, s.epoch_of[b] == s.next_epoch[p])
            for b in Batch
        )

    def is_stale(s, p: TopicPartition) -> Bool:
        return s.next_epoch[p] < s.producer_epoch

    def restarts_sequences(s, p: TopicPartition) -> Bool:
        """Returns True if the client numbers the partition's next batch with 0, because the
        producer epoch grew after the latest batch of the partition.

        If the client restarts the sequences of one partition only, the claim `the_next_is_accepted`
        breaks (bug `keeps-sequences`, 8 steps; KAFKA-12152).
        """
        return s.is_stale(p)

    @action
    def send(s, p: TopicPartition, b: Batch) -> None:
        """The client gives the next batch its sequence number and sends it. If the producer epoch
        grew, the partition's batches of the older epoch must be answered first.

        Kafka: Sender.sendProducerData and TransactionManager.
        Simplified: the client never waits for a full batch.

        Without the guard that the batches are sent in their order, the claim `the_next_is_accepted`
        breaks in 2 steps.
        """
        sequence = ite(s.restarts_sequences(p), Sequence(0), s.next_sequence[p])
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
        """The leader acknowledges a committed batch with its offset. The acknowledgement answers
        the first attempt or a retry.

        Kafka: DUPLICATE handling in UnifiedLog.analyzeAndValidateProducerState.
        Simplified: the client uses acks=all.

        Without the guard that the record is committed, the claim `acknowledged_is_there` breaks in
        3 steps.
        """
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
        """The client gives up a batch after the delivery timeout. The application does not learn
        whether the batch was appended.

        Kafka: delivery.timeout.ms.
        Simplified: the client may give up the lowest batch in flight at any time.

        Every claim also holds without the guard of this action.
        """
        when(true if s.gives_up else false)
        when(s.is_in_flight(p, b), forall(implies(c < b, ~s.is_in_flight(p, c)) for c in Batch))
        s.status[b] = FAILED

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        """Returns True if the client sent `c` before `b`. Then `c` gets the lower sequence number
        when the client renumbers its batches.

        If the client renumbers its batches from the last to the first, the claim `as_it_was_sent`
        breaks (bug `renumbers-backwards`, 7 steps; KAFKA-8483).
        """
        return c < b

    def rank(s, p: TopicPartition, b: Batch) -> Sequence:
        """Returns the sequence that batch `b` gets in a new epoch. It is the number of the
        partition's batches in flight that go before `b`.
        """
        before = count(s.is_in_flight(p, c) & s.goes_before(c, b) for c in Batch)
        rank = Sequence(0)
        for n in range(1, s.max_in_flight):
            rank = ite(before == n, Sequence(n), rank)
        return rank

    def bump_epoch(s, p: TopicPartition) -> None:
        """Moves the client to the next producer epoch, and numbers the partition's batches in
        flight from 0.
        """
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
        """The leader refuses the lowest batch in flight as out of order, and the client moves to a
        new epoch.

        Kafka: TransactionManager.canRetry and bumpIdempotentProducerEpoch.
        Simplified: the client renumbers the partition's batches in one step.

        Without the guard that the leader has not appended the batch yet, the claim `at_most_once`
        breaks in 4 steps.
        """
        when(
            s.is_in_flight(p, b),
            forall(implies(c < b, ~s.is_in_flight(p, c)) for c in Batch),
            ~s.is_duplicate(p, b),
            ~s.continues(p, b),
        )
        s.bump_epoch(p)

    @action(fair="weak")
    def resolve(s, p: TopicPartition) -> None:
        """A client that gave up a batch waits until no batch is in flight. It then moves to the
        next epoch.

        Kafka: TransactionManager.maybeResolveSequences.
        Simplified: the epoch grows at once.

        Without the guard that no batch is in flight, the claim `at_most_once` breaks in 7 steps.
        """
        when(s.is_unresolved(p), s.none_in_flight(p))
        s.bump_epoch(p)
