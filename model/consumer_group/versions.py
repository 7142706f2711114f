"""The only version of the spec `consumer-group`: the protocol of KIP-848 in Kafka 4.3."""

from __future__ import annotations

from model.consumer_group.claims import ConsumerGroupClaims
from model.variants import LATEST, kafka, version


@version("kip-1251", in_force=kafka(None, LATEST), default=True)
class ConsumerGroup(ConsumerGroupClaims):
    """KIP-848 with KIP-1251, as of Kafka 4.3."""
