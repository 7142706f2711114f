"""The versions of the abstract KIP-848 group; the version `kip-1251` (the default) has no static
members.
"""

from __future__ import annotations

from model.consumer_group_abstract.claims import AbstractConsumerGroupClaims
from model.consumer_group_abstract.static_members import StaticMembersClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-1251", in_force=kafka("4.3", LATEST), default=True)
class AbstractConsumerGroup(AbstractConsumerGroupClaims):
    """Consumer groups of KIP-848 with KIP-1251, as of Kafka 4.3."""


@version(
    "static-members",
    in_force=kafka("4.3", LATEST, needs="members with a group.instance.id"),
)
class AbstractStaticMembers(StaticMembersClaims):
    """The version `kip-1251`, but a member may be away, and another process may take its place."""
