"""The claims about the idempotent producer: each batch is appended at most once and in order, and
each sent batch is answered.
"""

from __future__ import annotations

from model.idempotence.actions import IdempotenceActions
from model.idempotence.state import (
    ACKED,
    FAILED,
    IN_FLIGHT,
    Batch,
    Offset,
    Sequence,
    TopicPartition,
)
from model.language import (
    Bool,
    Temporal,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    witness,
)


class IdempotenceClaims(IdempotenceActions):
    # ---- claims

    def same_epoch(s, p: TopicPartition, a: Offset, b: Offset) -> Bool:
        return s.log[p].record[a].producer_epoch == s.log[p].record[b].producer_epoch

    @invariant
    def at_most_once(s) -> Bool:
        """Every log has each batch at most once."""
        return forall(
            implies((a < b) & s.is_held(p, b), s.log[p].record[a].batch != s.log[p].record[b].batch)
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def in_order_without_gaps(s) -> Bool:
        """In a log, the sequences of each producer epoch are 0, 1, 2, ... in this order. Each
        sequence occurs once.
        """
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
        """Every log has its batches in the order in which the client sent the batches."""
        return forall(
            implies((a < b) & s.is_held(p, b), s.log[p].record[a].batch <= s.log[p].record[b].batch)
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        """In every log, the producer epochs never decrease."""
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
        """Every acknowledged batch is committed at the offset that the client received."""
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
        """A leader's producer state agrees with the leader's log.

        The producer epoch and the latest sequence in the state are those of the newest batch in the
        log. Every batch of the state is in the log at the offset that the state contains.
        """
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
        """If a leader's log has every earlier batch, the leader accepts the next batch or has
        appended it already.
        """
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
        """A follower can copy every record that it lacks."""
        return forall(
            implies(s.log[p].high_watermark < s.log[p].end_offset, s.may_copy(p))
            for p in TopicPartition
        )

    @liveness
    def batches_are_answered(s, b: Batch) -> Temporal:
        """For every batch in flight, the leader eventually acknowledges the batch, or the client
        gives it up.
        """
        return leads_to(s.status[b] == IN_FLIGHT, s.status[b] != IN_FLIGHT)

    # ---- witnesses

    @witness
    def a_retry_is_answered_from_the_window(s) -> Bool:
        """Reachable: a client waits for the acknowledgement of a batch, and the leader would detect
        a retry of this batch as a duplicate, although it has appended a newer batch.
        """
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
        """Reachable: the client gave up a batch, and another batch is acknowledged under a larger
        epoch.
        """
        return exists(
            all_of(s.status[a] == FAILED, s.status[b] == ACKED, s.epoch_of[a] < s.epoch_of[b])
            for a in Batch
            for b in Batch
        )

    @witness
    def all_is_deleted(s) -> Bool:
        """Reachable: all records below some offset are deleted, and the log still has later
        records.
        """
        return exists(
            (s.log[p].start_offset > 0) & (s.log[p].start_offset < s.log[p].end_offset)
            for p in TopicPartition
        )

    @witness
    def what_was_given_up_is_written(s) -> Bool:
        """Reachable: a batch that the client gave up is in the log."""
        return exists((s.status[b] == FAILED) & s.has(p, b) for b in Batch for p in TopicPartition)
