"""Bugs of the idempotent producer: each class replaces a rule; its decorator names the failing
claim.

Source: KIP-98; KIP-360, and the issue that each class names.
"""

from __future__ import annotations

from model.idempotence.state import QUIET, Batch, Sequence, TopicPartition
from model.idempotence.versions import IdempotentProducer, Kip98
from model.language import Bool, action, false, ite, nothing, true, when
from model.variants import LATEST, UNKNOWN, bug, kafka

# ---- leaders


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
    """A leader accepts any sequence as the first one of a producer that it does not know.

    The second of two batches arrives first at a new partition, and the first can never be appended
    (KAFKA-15591). Kafka up to 4.3 behaves so outside transactions. This bug breaks the claim
    `in_order_without_gaps`.
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
    """A leader keeps only the newest batch, while clients keep more than one in flight.

    A retry of an older batch is out of order: the client gives it a new number, and it is appended
    again (KAFKA-5494). This bug breaks the claim `at_most_once`.
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

    A control, not a bug of the code: with a short expiration a retry is taken for a first batch.
    This bug breaks the claim `at_most_once`.
    """

    @action
    def expire(s, p: TopicPartition) -> None:
        """A replica forgets the producer, and so does the other one."""
        when(s.leader_knows[p].is_known)
        when(s.log[p].end_offset < s.batches)  # bounds how often, so that logs fit the scope
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
    """A replica that restarts restores only the newest batch of the producer from its snapshot.

    Kafka's snapshots are so, up to 4.3. A client that retries an older batch is answered out of
    order, gives it a new number, and it is appended again. Reproduced on brokers of Kafka 4.3. This
    bug breaks the claim `at_most_once`.
    """

    def restart(s, p: TopicPartition) -> None:
        """The old leader restarts and keeps only the newest batch in its window."""
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
    """A follower checks whether a copied record continues the producer's sequence.

    The follower has deleted its producer state and the leader has not, so nothing more is copied
    (KAFKA-6003). This bug breaks the claim `followers_can_copy`.
    """

    def may_copy(s, p: TopicPartition) -> Bool:
        record = s.log[p].record[s.log[p].high_watermark]
        return s.follower_knows[p].is_known | (record.sequence == 0)


# ---- clients


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
    """A larger epoch resets the sequences only of the partition that is in trouble.

    To another partition the client sends the next sequence under the new epoch, where the leader
    expects 0 (KAFKA-12152). This bug breaks the claim `the_next_is_accepted`.
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
    """Batches in flight get new numbers in another order than that of sending.

    They are appended in that order (KAFKA-8483). This bug breaks the claim `as_it_was_sent`.
    """

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        return b < c
