"""The idempotent producer of KIP-98 and of KIP-360."""

from __future__ import annotations

from model.idempotence.claims import IdempotenceClaims
from model.idempotence.state import QUIET, Offset, Sequence, TopicPartition
from model.language import Bool
from model.variants import kafka, unreleased, version


@version(
    "kip-360",
    in_force=unreleased(
        "the check of the first sequence on a new partition, KAFKA-15591, is promised for 4.5"
    ),
    default=True,
)
class IdempotentProducer(IdempotenceClaims):
    """KIP-360: replicas keep producer state when records are deleted; a new epoch restarts
    sequences.

    A partition that never had a record accepts only sequence 0 first (KAFKA-15591). Kafka up to 4.3
    does not check this outside transactions, as in the bug `any-first-sequence`.
    """


@version(
    "kip-98",
    breaks="the_next_is_accepted",
    steps=6,
    at={**QUIET, "deletes": True},
    id="I2",
    issue="KAFKA-7190",
    in_force=kafka("0.11", "2.3"),
)
class Kip98(IdempotentProducer):
    """KIP-98: when a producer's last record is deleted, the broker forgets the producer.

    The producer's next batch is refused with UNKNOWN_PRODUCER_ID, which is fatal (KAFKA-7190). This
    version breaks the claim `the_next_is_accepted`.
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        """True if the sequence is 0: a producer that the leader does not know must begin with 0."""
        return sequence == 0

    def forget(s, p: TopicPartition, start: Offset) -> None:
        """Clears the state of both replicas, if the producer's last record is deleted."""
        s.lose(s.leader_knows[p], s.log[p].end_offset == start)
        s.lose(s.follower_knows[p], s.log[p].high_watermark == start)
