"""What went wrong with the idempotent producer: each replaces one rule, and says what catches it.

Source: the issues of Apache Kafka that each one names; KIP-98; KIP-360.
"""

from __future__ import annotations

from model.idempotence.state import QUIET, Batch, Sequence, TopicPartition
from model.idempotence.versions import IdempotentProducer, Kip98
from model.language import Bool, action, false, ite, nothing, true, when
from model.variants import LATEST, UNKNOWN, bug, kafka

# ---- what a leader knows


@bug(
    "any-first-sequence",
    breaks="in_order_without_gaps",
    steps=3,
    at=QUIET,
    id="I1",
    issue="KAFKA-15591",
    in_force=kafka("2.5", LATEST, "for batches outside transactions"),
)
class AnyFirstSequence(IdempotentProducer):
    """A leader takes any batch for the first of a producer that it does not know.

    The second of two batches comes first, to a partition that has just been created: the first can
    never be appended (KAFKA-15591). Fails in_order_without_gaps.
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        return true


@bug(
    "window-of-one",
    breaks="at_most_once",
    steps=6,
    at=QUIET,
    id="I4",
    issue="KAFKA-5494",
    in_force=UNKNOWN,
)
class WindowOfOne(IdempotentProducer):
    """A leader knows the newest batch only, and clients keep more than one in flight.

    A retry of an older one is out of order: the client numbers it anew, and it is appended again
    (KAFKA-5494). Fails at_most_once.
    """

    def keeps(s, p: TopicPartition, sequence: Sequence, newer: Sequence) -> Bool:
        return false


@bug(
    "expires",
    breaks="at_most_once",
    steps=4,
    at=QUIET,
    id="I9",
    issue="producer.id.expiration.ms",
    in_force=kafka(None, LATEST, "with a producer.id.expiration.ms shorter than the retries"),
)
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


@bug(
    "snapshot-keeps-newest",
    breaks="at_most_once",
    steps=10,
    at={**QUIET, "leader_changes": 2},
    in_force=kafka(None, LATEST, "reproduced on real brokers of 4.3"),
)
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


@bug(
    "checks-copies",
    breaks="followers_can_copy",
    steps=7,
    at={**QUIET, "deletes": True},
    id="I8",
    issue="KAFKA-6003",
    in_force=UNKNOWN,
)
class ChecksCopies(Kip98):
    """A follower asks of what it copies whether it continues what it knows.

    It has deleted what it knew the producer by, and its leader has not: it copies nothing more
    (KAFKA-6003). Fails followers_can_copy.
    """

    def may_copy(s, p: TopicPartition) -> Bool:
        record = s.log[p].record[s.log[p].high_watermark]
        return s.follower_knows[p].is_known | (record.sequence == 0)


# ---- what a client does


@bug(
    "keeps-sequences",
    breaks="the_next_is_accepted",
    steps=8,
    at={**QUIET, "batches": 3, "gives_up": True, "partitions": 2},
    id="I5",
    issue="KAFKA-12152",
    in_force=UNKNOWN,
)
class KeepsSequences(IdempotentProducer):
    """A larger epoch resets the sequences of the partition that is in trouble, and no other.

    To another partition the client sends the next sequence under the new epoch, where the leader
    waits for 0 (KAFKA-12152). Fails the_next_is_accepted.
    """

    def begins_anew(s, p: TopicPartition) -> Bool:
        return false


@bug(
    "renumbers-backwards",
    breaks="as_it_was_sent",
    steps=7,
    at={**QUIET, "batches": 3, "gives_up": True, "max_in_flight": 3},
    id="I6",
    issue="KAFKA-8483",
    in_force=UNKNOWN,
)
class RenumbersBackwards(IdempotentProducer):
    """Batches in flight are numbered anew in another order than that of sending.

    They are appended in that order (KAFKA-8483). Fails as_it_was_sent.
    """

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        return b < c
