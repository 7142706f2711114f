"""The versions of the spec of the abstract KIP-848 group.

The version `kip-1251` is the default and has no static members. The version `static-members` adds
them.
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
    """Consumer groups of KIP-848 with KIP-1251 and static members. A static member may be away, and
    another process may take its place.
    """
