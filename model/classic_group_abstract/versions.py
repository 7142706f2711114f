"""The version of the spec of the abstract classic group."""

from __future__ import annotations

from model.classic_group_abstract.claims import AbstractClassicGroupClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-345", in_force=kafka("2.3", LATEST), default=True)
class AbstractClassicGroup(AbstractClassicGroupClaims):
    """Classic groups with static members (KIP-345) and sticky assignment (KIP-341)."""
