"""The idempotent producer: what a client and its leaders make of lost answers, and what is claimed.

A client numbers the batches of a partition, keeps a few of them in flight, and sends again what is
not answered. When the lowest of them is out of order, or one has been given up, the numbers are of
no use any more: it takes a larger epoch and numbers from 0 what is in flight. Leaders do the rest
(`partition.py`).

Source: KIP-98; KIP-360; TransactionManager of Apache Kafka's client; KAFKA-12152.
Simplified: what was in flight when it was numbered anew does not come under its old number. What a
client gives up may come as long as nothing fences it.
"""

from __future__ import annotations

from model.idempotence.partition import (
    ACKED,
    FAILED,
    IN_FLIGHT,
    UNSENT,
    Batch,
    Offset,
    Partitions,
    Sequence,
    TopicPartition,
)
from model.language import (
    Bool,
    Temporal,
    action,
    all_of,
    count,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    leads_to,
    liveness,
    true,
    when,
    witness,
)


class IdempotentProducer(Partitions):
    """KIP-360: knowledge outlives what is deleted, and a client resets its numbers by an epoch."""

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

    # ---- what is claimed

    def same_epoch(s, p: TopicPartition, a: Offset, b: Offset) -> Bool:
        return s.log[p].record[a].producer_epoch == s.log[p].record[b].producer_epoch

    @invariant
    def at_most_once(s) -> Bool:
        """No batch is in a log twice."""
        return forall(
            implies((a < b) & s.is_held(p, b), s.log[p].record[a].batch != s.log[p].record[b].batch)
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def in_order_without_gaps(s) -> Bool:
        """Of an epoch, a log has the sequences from 0 on, each once and in order."""
        return forall(
            all_of(
                implies(
                    all_of(a < b, s.is_held(p, b), s.same_epoch(p, a, b)),
                    s.log[p].record[a].sequence < s.log[p].record[b].sequence,
                ),
                implies(
                    s.is_held(p, b) & (s.log[p].record[b].sequence > 0),
                    exists(
                        all_of(
                            c < b,
                            s.same_epoch(p, c, b),
                            s.log[p].record[c].sequence + 1 == s.log[p].record[b].sequence,
                        )
                        for c in Offset
                    ),
                ),
            )
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def as_it_was_sent(s) -> Bool:
        """A log has batches in the order in which they were sent."""
        return forall(
            implies((a < b) & s.is_held(p, b), s.log[p].record[a].batch <= s.log[p].record[b].batch)
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        """In a log, after a record of a producer epoch comes none of a smaller one."""
        return forall(
            implies(
                (a < b) & s.is_held(p, b),
                s.log[p].record[a].producer_epoch <= s.log[p].record[b].producer_epoch,
            )
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def acknowledged_is_there(s) -> Bool:
        """What was acknowledged is committed, at the offset that the client was told."""
        return forall(
            implies(
                (s.status[b] == ACKED) & (s.sent_to[b] == p),
                all_of(
                    s.acked_at[b] < s.log[p].high_watermark,
                    s.log[p].record[s.acked_at[b]].batch == b,
                ),
            )
            for b in Batch
            for p in TopicPartition
        )

    @invariant
    def knowledge_is_of_the_log(s) -> Bool:
        """A leader knows the epoch and the sequence of its last record, and where batches are."""
        return forall(
            all_of(
                s.leader_knows[p].is_known == (s.log[p].end_offset > 0),
                implies(
                    s.is_held(p, o) & (s.log[p].end_offset == o + 1),
                    all_of(
                        s.leader_knows[p].producer_epoch == s.log[p].record[o].producer_epoch,
                        s.leader_knows[p].last_sequence == s.log[p].record[o].sequence,
                    ),
                ),
                implies(
                    s.leader_knows[p].offset[q] == o,
                    all_of(
                        s.is_held(p, o),
                        s.leader_knows[p].producer_epoch == s.log[p].record[o].producer_epoch,
                        s.log[p].record[o].sequence == q,
                    ),
                ),
            )
            for p in TopicPartition
            for q in Sequence
            for o in Offset
        )

    def has(s, p: TopicPartition, b: Batch) -> Bool:
        return exists(s.is_held(p, o) & (s.log[p].record[o].batch == b) for o in Offset)

    @invariant
    def the_next_is_accepted(s) -> Bool:
        """Where the log has all that was sent before a batch, it accepts the batch, or has it."""
        return forall(
            implies(
                s.is_in_flight(p, b)
                & forall(implies((c < b) & (s.sent_to[c] == p), s.has(p, c)) for c in Batch),
                s.has(p, b) | s.continues(p, b),
            )
            for p in TopicPartition
            for b in Batch
        )

    @invariant
    def followers_can_copy(s) -> Bool:
        """A follower that lacks a record can copy it."""
        return forall(
            implies(s.log[p].high_watermark < s.log[p].end_offset, s.may_copy(p))
            for p in TopicPartition
        )

    @liveness
    def batches_are_answered(s, b: Batch) -> Temporal:
        """A batch is acknowledged, or given up."""
        return leads_to(s.status[b] == IN_FLIGHT, s.status[b] != IN_FLIGHT)

    # ---- what must be possible

    @witness
    def a_retry_is_answered_from_the_window(s) -> Bool:
        """A batch that is not the newest is committed and not acknowledged: its retry is known."""
        return exists(
            all_of(
                s.is_in_flight(p, b),
                s.is_duplicate(p, b),
                s.sequence_of[b] < s.leader_knows[p].last_sequence,
            )
            for p in TopicPartition
            for b in Batch
        )

    @witness
    def an_epoch_begins(s) -> Bool:
        """After a batch was given up, a later one is acknowledged under a larger epoch."""
        return exists(
            all_of(s.status[a] == FAILED, s.status[b] == ACKED, s.epoch_of[a] < s.epoch_of[b])
            for a in Batch
            for b in Batch
        )

    @witness
    def all_is_deleted(s) -> Bool:
        """A leader knows the producer of records that are no more, and has appended since."""
        return exists(
            (s.log[p].start_offset > 0) & (s.log[p].start_offset < s.log[p].end_offset)
            for p in TopicPartition
        )

    @witness
    def what_was_given_up_is_written(s) -> Bool:
        """A batch is in the log that the application was told nobody knows of."""
        return exists((s.status[b] == FAILED) & s.has(p, b) for b in Batch for p in TopicPartition)
