"""The version of the abstract KIP-848 group."""

from __future__ import annotations

from model.consumer_group_abstract.claims import AbstractConsumerGroupClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-1251", in_force=kafka("4.3", LATEST), default=True)
class AbstractConsumerGroup(AbstractConsumerGroupClaims):
    """Consumer groups of KIP-848 with KIP-1251, as of Kafka 4.3."""
