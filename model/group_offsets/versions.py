"""The version of the spec `group-offsets`."""

from __future__ import annotations

from model.group_offsets.claims import GroupOffsetsClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-447", in_force=kafka("2.5", LATEST), default=True)
class GroupOffsets(GroupOffsetsClaims):
    """The rules of KIP-447: a transactional commit carries the consumer's generation, and
    OffsetFetch waits for pending commits.
    """
