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

    truncates_before_fetch: bool  # where the logs part, before the first fetch
    response_has_epoch: (
        bool  # the answer names an epoch; a follower that lacks it cuts and asks again
    )
    sends_leader_epoch: bool  # requests tell in which leader epoch the follower is
    sends_last_fetched_epoch: bool  # fetches tell the leader epoch of the last record


_RULES: Final[Mapping[Truncation, Rules]] = {
    Truncation.HIGH_WATERMARK: Rules(
        truncates_before_fetch=False,
        response_has_epoch=False,
        sends_leader_epoch=False,
        sends_last_fetched_epoch=False,
    ),
    Truncation.KIP_101: Rules(
        truncates_before_fetch=True,
        response_has_epoch=False,
        sends_leader_epoch=False,
        sends_last_fetched_epoch=False,
    ),
    Truncation.KIP_279: Rules(
        truncates_before_fetch=True,
        response_has_epoch=True,
        sends_leader_epoch=False,
        sends_last_fetched_epoch=False,
    ),
    Truncation.KIP_320: Rules(
        truncates_before_fetch=True,
        response_has_epoch=True,
        sends_leader_epoch=True,
        sends_last_fetched_epoch=False,
    ),
    Truncation.IN_FETCH: Rules(
        truncates_before_fetch=False,
        response_has_epoch=True,
        sends_leader_epoch=True,
        sends_last_fetched_epoch=True,
    ),
}
