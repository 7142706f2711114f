"""The five versions of the truncation protocol, by which a follower finds where its log diverges
from the leader's log:

    high-watermark  before Kafka 0.11: the follower truncates to its own high watermark, with no
                    request
    kip-101         Kafka 0.11: the follower requests the end offset of its last record's epoch
    kip-279         Kafka 2.0: the response also names the largest leader epoch at or below the
                    requested epoch; a follower without this epoch truncates and requests again
    kip-320         Kafka 2.1: each request and fetch carries the present leader epoch of the
                    follower; the leader rejects any other epoch
    in-fetch        since Kafka 2.7: each fetch carries the epoch of the follower's last record; the
                    response has the diverging epoch

Each of the first three versions has a defect that the next version fixes (KAFKA-1211, KAFKA-6361,
KAFKA-6880). Because of such a defect, committed records are lost, or two replicas have different
records at one offset. All brokers of a cluster use the same version.

Source: KIP-101, KIP-279, KIP-320, KIP-595; docs/kafka-rules.md A8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class Truncation(Enum):
    HIGH_WATERMARK = "high-watermark"
    KIP_101 = "kip-101"
    KIP_279 = "kip-279"
    KIP_320 = "kip-320"
    IN_FETCH = "in-fetch"

    @property
    def rules(self) -> Rules:
        return _RULES[self]


class Rules(NamedTuple):
    """The requests and the leader epochs that one version of the truncation protocol uses."""

    requests_epoch_end: bool = False  # before the first fetch
    response_has_epoch: bool = False  # a follower without this epoch sends another request
    sends_leader_epoch: bool = False  # the leader rejects requests of another leader epoch
    sends_last_fetched_epoch: bool = False  # in each fetch


_RULES: Final[Mapping[Truncation, Rules]] = {
    Truncation.HIGH_WATERMARK: Rules(),
    Truncation.KIP_101: Rules(requests_epoch_end=True),
    Truncation.KIP_279: Rules(requests_epoch_end=True, response_has_epoch=True),
    Truncation.KIP_320: Rules(
        requests_epoch_end=True, response_has_epoch=True, sends_leader_epoch=True
    ),
    Truncation.IN_FETCH: Rules(
        response_has_epoch=True, sends_leader_epoch=True, sends_last_fetched_epoch=True
    ),
}
