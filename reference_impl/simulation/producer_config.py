"""The settings of a simulated producer: requests in flight, batches and time-outs."""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.protocol.messages import ACKS_ALL
from reference_impl.simulation.client_libraries import PLAIN, Library


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """The settings of a simulated producer.

    Raises ValueError if `max_in_flight` is below 1 or above 5. A broker remembers only five batches
    of a producer. Raises ValueError if an idempotent producer has a delivery timeout and the client
    library `PLAIN`, because `PLAIN` has no rule for a new producer epoch.
    """

    acks: int = ACKS_ALL
    idempotent: bool = True
    retries: bool = True
    max_in_flight: int = 5
    request_timeout_ms: int = 300
    replication_timeout_ms: int = 200
    backoff_ms: int = 20
    library: Library = PLAIN  # how it treats batches that are out of order or time out
    batch_records: int = 1  # the most records of a batch
    linger_ms: int = 0  # a batch that is not full waits so long for more records
    delivery_timeout_ms: int | None = None  # of a batch; None: it is retried until it is decided

    def __post_init__(self) -> None:
        if not 1 <= self.max_in_flight <= 5:
            raise ValueError(f"max_in_flight is {self.max_in_flight}; it must be 1 to 5")
        if self.delivery_timeout_ms is not None and self.idempotent and self.library == PLAIN:
            raise ValueError("delivery_timeout_ms needs a library's rules if idempotent")
