"""The reason for each failure in docs/clients.md. No failure is a defect of the reference broker.

A key of `REASONS` is a client and a scenario. A test checks that exactly the failed results have a
reason.
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
    ("@platformatic/kafka", "abort-after-commit"): (
        "The consumer keeps one aborted range for each producer id. If a fetch has several aborted"
        " transactions of one producer, it returns records of all but the last. librdkafka reads"
        " the same log correctly."
    ),
    ("@platformatic/kafka", "crash-of-leader"): (
        "After a refused connection the producer retries with the same broker, and does not request"
        " new metadata."
    ),
    ("@platformatic/kafka", "crash-of-group-coordinator"): (
        "The client ends with a TypeError: it looks for the coordinator in metadata that no longer"
        " have this broker."
    ),
    ("@platformatic/kafka", "crash-of-transaction-coordinator"): (
        "After the crash no further request of the client arrives at any broker."
    ),
}
