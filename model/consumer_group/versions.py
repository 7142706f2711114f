"""The versions of the spec `consumer-group`.

The version `kip-1251` is the default and has no static members. The version `static-members` adds
them.
"""

from __future__ import annotations

from model.consumer_group.claims import ConsumerGroupClaims
from model.consumer_group.static_members import StaticMembersClaims
from model.releases import LATEST, kafka
from model.variants import version


@version(
    "kip-1251",
    in_force=kafka("4.3", LATEST, "and the fix of KAFKA-20442, which is newer"),
    default=True,
)
class ConsumerGroup(ConsumerGroupClaims):
    """Consumer groups of KIP-848 with KIP-1251, as of Kafka 4.3."""


@version(
    "static-members",
    in_force=kafka(
        "4.3",
        LATEST,
        "and the fixes of KAFKA-20442 and of Kafka's pull request 23542, which are newer",
        needs="members with a group.instance.id",
    ),
)
class StaticMembers(StaticMembersClaims):
    """Consumer groups of KIP-848 with KIP-1251 and static members. A static member may leave for
    some time and come back without a new group epoch.
    """
