"""How a follower finds the place where its log parts from the leader's: a table of five versions.

    high-watermark  Kafka before 0.11: cut to the own high watermark, ask nobody
    kip-101         0.11: ask where the leader epoch of the last record ended
    kip-279         2.0: the answer names the largest leader epoch that is meant
                    by it; a follower that lacks that one cuts and asks again
    kip-320         2.1: and both sides have to be in the same leader epoch, also for the fetch
    in-fetch        2.7, today: each fetch tells the epoch of the last record, its answer the place

Each of the first four loses or mixes records that the next one keeps (KAFKA-1211, KAFKA-6361,
KAFKA-6880): the suites and the model show how. All brokers of a cluster use one version.

Source: KIP-101, KIP-279, KIP-320, KIP-595; protocol rules A8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Truncation(Enum):
    """A version of truncation, by its name."""

    HIGH_WATERMARK = "high-watermark"
    KIP_101 = "kip-101"
    KIP_279 = "kip-279"
    KIP_320 = "kip-320"
    IN_FETCH = "in-fetch"

    @property
    def rules(self) -> Rules:
        """What this version does."""
        return _RULES[self]


class Rules(NamedTuple):
    """What a follower does in a new leader epoch."""

    asks_first: bool  # where the logs part, before the first fetch
    knows_epoch: bool  # the answer names an epoch; a follower that lacks it cuts and asks again
    is_fenced: bool  # requests tell in which leader epoch the follower is
    in_fetch: bool  # fetches tell the leader epoch of the last record


_RULES: Final[Mapping[Truncation, Rules]] = {
    Truncation.HIGH_WATERMARK: Rules(
        asks_first=False, knows_epoch=False, is_fenced=False, in_fetch=False
    ),
    Truncation.KIP_101: Rules(asks_first=True, knows_epoch=False, is_fenced=False, in_fetch=False),
    Truncation.KIP_279: Rules(asks_first=True, knows_epoch=True, is_fenced=False, in_fetch=False),
    Truncation.KIP_320: Rules(asks_first=True, knows_epoch=True, is_fenced=True, in_fetch=False),
    Truncation.IN_FETCH: Rules(asks_first=False, knows_epoch=True, is_fenced=True, in_fetch=True),
}
