"""Why a cell of docs/clients.md says failed, in words, where the reason is not the broker's.

A test compares these entries with the recorded results: each failed cell has a reason, and each
reason belongs to a failed cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[tuple[str, str], str]] = {
    ("kafka-python", "rebalance-cooperative"): (
        "After the rebalance the first member no longer fetches its partitions, and both members"
        " join again every few seconds. Apache Kafka 4.3.0 gives the same result."
    ),
    ("kafka-python", "crash-of-transaction-coordinator"): (
        "The client keeps waiting for a connection to the crashed broker, and sends no further"
        " request after a metadata response that lacks this broker."
    ),
}
