"""The default version of the spec `coordinator-abstract`: transaction version 2, as in Apache Kafka
4.2.
"""

from __future__ import annotations

from model.coordinator_abstract.claims import AbstractCoordinatorClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-1228", in_force=kafka("4.2", LATEST), default=True)
class AbstractCoordinator(AbstractCoordinatorClaims):
    """Transaction version 2: each transaction has a larger epoch than the producer's previous
    transaction (KIP-890), and partitions refuse late markers (KIP-1228).

    If the epochs of a producer id run out, the next transaction has another producer id.
    """
