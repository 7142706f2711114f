"""What went wrong with the idempotent producer: each replaces one rule, and says what catches it.

Source: the issues of Apache Kafka that each one names; KIP-98; KIP-360.
"""

from __future__ import annotations

from model.idempotence.partition import (
    Batch,
    Offset,
    Sequence,
    TopicPartition,
)
from model.idempotence.spec import IdempotentProducer
from model.language import Bool, action, false, ite, nothing, true, when

# ---- what a leader knows


class AnyFirstSequence(IdempotentProducer):
    """A leader takes any batch for the first of a producer that it does not know.

    The second of two batches comes first, to a partition that has just been created: the first can
    never be appended (KAFKA-15591). Fails in_order_without_gaps.
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        return true


class WindowOfOne(IdempotentProducer):
    """A leader knows the newest batch only, and clients keep more than one in flight.

    A retry of an older one is out of order: the client numbers it anew, and it is appended again
    (KAFKA-5494). Fails at_most_once.
    """

    def keeps(s, p: TopicPartition, sequence: Sequence, newer: Sequence) -> Bool:
        return false


class Expires(IdempotentProducer):
    """A leader forgets a producer that still retries (producer.id.expiration.ms).

    Not a fault of the code but of the configuration: a retry is taken for a first batch. Fails
    at_most_once.
    """

    @action
    def expire(s, p: TopicPartition) -> None:
        """A replica forgets the producer; so does the other, by the same clock."""
        when(s.leader_knows[p].is_known)
        when(s.log[p].end_offset < s.batches)  # often enough, and logs stay in their scope
        for known in (s.leader_knows[p], s.follower_knows[p]):
            s.lose(known, true)


class SnapshotKeepsNewest(IdempotentProducer):
    """A replica that restarts reads a snapshot, and finds the newest batch in it and no other.

    So Kafka's snapshots are. A client that retries an older batch finds it out of order, numbers it
    anew, and it is appended again. Fails at_most_once.
    """

    def restart(s, p: TopicPartition) -> None:
        known = s.follower_knows[p]
        last = known.last_sequence
        for q in Sequence:
            s.follower_knows[p].offset[q] = ite(q == last, known.offset[q], nothing)


class Kip98(IdempotentProducer):
    """KIP-98: when its last record is deleted, a producer is not known any more.

    Its next batch is refused with UNKNOWN_PRODUCER_ID, which is fatal (KAFKA-7190). Fails
    the_next_is_accepted.
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        return sequence == 0

    def forget(s, p: TopicPartition, start: Offset) -> None:
        s.lose(s.leader_knows[p], s.log[p].end_offset == start)
        s.lose(s.follower_knows[p], s.log[p].high_watermark == start)


class ChecksCopies(Kip98):
    """A follower asks of what it copies whether it continues what it knows.

    It has deleted what it knew the producer by, and its leader has not: it copies nothing more
    (KAFKA-6003). Fails followers_can_copy.
    """

    def may_copy(s, p: TopicPartition) -> Bool:
        record = s.log[p].record[s.log[p].high_watermark]
        return s.follower_knows[p].is_known | (record.sequence == 0)


# ---- what a client does


class KeepsSequences(IdempotentProducer):
    """A larger epoch resets the sequences of the partition that is in trouble, and no other.

    To another partition the client sends the next sequence under the new epoch, where the leader
    waits for 0 (KAFKA-12152). Fails the_next_is_accepted.
    """

    def begins_anew(s, p: TopicPartition) -> Bool:
        return false


class RenumbersBackwards(IdempotentProducer):
    """Batches in flight are numbered anew in another order than that of sending.

    They are appended in that order (KAFKA-8483). Fails as_it_was_sent.
    """

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        return b < c
