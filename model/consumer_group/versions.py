"""The version of the spec `consumer-group`."""

from __future__ import annotations

from model.consumer_group.claims import ConsumerGroupClaims
from model.releases import LATEST, kafka
from model.variants import version


@version(
    "kip-1251",
    in_force=kafka("4.3", LATEST, "and the fix of KAFKA-20442, which is newer"),
    default=True,
)
class ConsumerGroup(ConsumerGroupClaims):
    """Consumer groups of KIP-848 with KIP-1251, as of Kafka 4.3."""
