"""Bugs of the idempotent producer. Each class changes a rule of the spec, so that a claim breaks.

The decorator of the class names the claim.

Source: KIP-98; KIP-360, and the issue that each class names.
"""

from __future__ import annotations

from model.idempotence.state import QUIET, Batch, Sequence, TopicPartition
from model.idempotence.versions import IdempotentProducer, Kip98
from model.language import Bool, action, false, ite, nothing, true, when
from model.releases import LATEST, kafka
from model.variants import bug

# ---- leaders


@bug(
    "window-of-one",
    breaks="at_most_once",
    steps=6,
    at=QUIET,
    issue="KAFKA-5494",
    in_force=kafka("0.11", "0.11", "its clients had to send one batch at a time"),
)
class WindowOfOne(IdempotentProducer):
    """A leader detects only a retry of the producer's newest batch, although a client may have
    several batches in flight.

    The leader refuses the retry of an older batch. The client gives this batch a new number, and
    the leader appends the batch a second time (KAFKA-5494).
    """

    def keeps(s, p: TopicPartition, sequence: Sequence, newer: Sequence) -> Bool:
        return false


@bug(
    "expires",
    breaks="at_most_once",
    steps=4,
    at=QUIET,
    issue="producer.id.expiration.ms",
    in_force=kafka(
        None, LATEST, needs="record timestamps older than producer.id.expiration.ms, or a low value"
    ),
)
class Expires(IdempotentProducer):
    """A leader forgets a producer that still retries a batch (producer.id.expiration.ms).

    A producer expires when `producer.id.expiration.ms` has passed since the timestamp of its latest
    record. The client chooses this timestamp. If it is older than a day, the default value of a day
    does not protect the producer. The leader no longer knows the producer when a retry arrives. It
    treats the batch as the producer's first one, and appends the batch a second time. This was
    reproduced on brokers of Kafka 4.3.

    Source: ProducerStateManager.isProducerExpired.
    """

    @action
    def expire(s, p: TopicPartition) -> None:
        """Both replicas forget the producer."""
        when(s.leader_knows[p].is_known)
        when(s.log[p].end_offset < s.batches)  # bounds how often, so that logs fit the scope
        for known in (s.leader_knows[p], s.follower_knows[p]):
            s.lose(known, true)


@bug(
    "snapshot-keeps-newest",
    breaks="at_most_once",
    steps=10,
    at={**QUIET, "leader_changes": 2},
    in_force=kafka("1.0", LATEST, "reproduced on real brokers of 4.3"),
)
class SnapshotKeepsNewest(IdempotentProducer):
    """A replica that restarts restores only the newest batch of the producer from its snapshot.

    Kafka up to 4.3 writes only the newest batch to its snapshots. The leader refuses the retry of
    an older batch. The client gives this batch a new number, and the leader appends the batch a
    second time. This was reproduced on brokers of Kafka 4.3.
    """

    def restart(s, p: TopicPartition) -> None:
        """The old leader restarts as a follower, and from then on detects only retries of the
        producer's newest batch.
        """
        known = s.follower_knows[p]
        last = known.last_sequence
        for q in Sequence:
            s.follower_knows[p].offset[q] = ite(q == last, known.offset[q], nothing)


@bug(
    "checks-copies",
    breaks="followers_can_copy",
    steps=7,
    at={**QUIET, "deletes": True},
    issue="KAFKA-6003",
    in_force=kafka("0.11", "0.11.0.1"),
)
class ChecksCopies(Kip98):
    """A follower checks whether a copied record continues the producer's sequence.

    A follower that has deleted its producer state earlier than the leader then refuses to copy the
    producer's further records (KAFKA-6003).
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
    issue="KAFKA-12152",
    in_force=kafka(None, "2.7.0"),
)
class KeepsSequences(IdempotentProducer):
    """When the producer epoch grows, the client restarts the sequences of one partition only.

    The leader of another partition expects the sequence 0, but receives the next sequence of the
    old epoch (KAFKA-12152).
    """

    def restarts_sequences(s, p: TopicPartition) -> Bool:
        return false


@bug(
    "renumbers-backwards",
    breaks="as_it_was_sent",
    steps=7,
    at={**QUIET, "batches": 3, "gives_up": True, "max_in_flight": 3},
    issue="KAFKA-8483",
    in_force=kafka(None, "2.2"),
)
class RenumbersBackwards(IdempotentProducer):
    """The client renumbers its batches in flight, but not in the order in which it sent the
    batches.

    The leader appends the batches in the order of the new numbers (KAFKA-8483).
    """

    def goes_before(s, c: Batch, b: Batch) -> Bool:
        return b < c
