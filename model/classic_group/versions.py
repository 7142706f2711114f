"""The version of the spec `classic-group`."""

from __future__ import annotations

from model.classic_group.claims import ClassicGroupClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-345", in_force=kafka("2.3", LATEST), default=True)
class ClassicGroup(ClassicGroupClaims):
    """Classic groups as of Kafka 3.7, with static members (KIP-345) and sticky assignment
    (KIP-341).
    """
