"""The versions of the idempotent producer: KIP-98, KIP-360, and KIP-360 with a check that the first
sequence in a partition is 0.
"""

from __future__ import annotations

from model.idempotence.claims import IdempotenceClaims
from model.idempotence.state import QUIET, Offset, Sequence, TopicPartition
from model.language import Bool, true
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "first-sequence",
    in_force=unreleased(
        "the check of the first sequence on a new partition, KAFKA-15591, is promised for 4.5"
    ),
    default=True,
)
class IdempotentProducer(IdempotenceClaims):
    """KIP-360 with the check that KAFKA-15591 promises: the first record of a partition must have
    sequence 0.

    Kafka up to 4.3 checks a first sequence only in transactions of version 2. The version `kip-360`
    of the spec has the rules of Kafka up to 4.3.
    """


@version(
    "kip-360",
    breaks="in_order_without_gaps",
    steps=3,
    at=QUIET,
    issue="KAFKA-15591",
    in_force=kafka("2.5", LATEST, "only transactions of version 2 check a first sequence"),
)
class Kip360(IdempotentProducer):
    """KIP-360: replicas retain the producer state when records are deleted. An unknown producer may
    begin with any sequence.

    If the second of two batches arrives first at a new partition, the leader appends the second
    batch, and then refuses the first batch (KAFKA-15591). The client gives both batches new numbers
    and sends both batches again, so the second batch is in the log twice. This breaks the claims
    `in_order_without_gaps` and `at_most_once`, unless max.in.flight.requests.per.connection=1.
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        """Returns True always: the leader accepts any first sequence, because it may have forgotten
        the producer.
        """
        return true


@version(
    "kip-98",
    breaks="the_next_is_accepted",
    steps=6,
    at={**QUIET, "deletes": True},
    issue="KAFKA-7190",
    in_force=kafka("0.11", "2.3"),
)
class Kip98(IdempotentProducer):
    """KIP-98: when the log has no record of a producer any more, the replicas forget the producer.

    The leader refuses the producer's next batch with UNKNOWN_PRODUCER_ID, which is fatal
    (KAFKA-7190).
    """

    def begins_unknown(s, p: TopicPartition, sequence: Sequence) -> Bool:
        return sequence == 0

    def forget(s, p: TopicPartition, start: Offset) -> None:
        s.lose(s.leader_knows[p], s.log[p].end_offset == start)
        s.lose(s.follower_knows[p], s.log[p].high_watermark == start)
