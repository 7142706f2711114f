"""The claims that Kafka satisfies even if their condition does not hold, with the reason for each
claim.

A trial outside the condition of a claim should break the claim. The table lists each claim that no
such trial broke on Apache Kafka 4.3.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUBJECT: Final = "apache-kafka:4.3.0"
BECAUSE: Final[Mapping[tuple[str, str], str]] = {  # (suite, claim) -> the reason
    ("transactions", "transactional_implies_idempotent"): (
        "Kafka keeps this promise in every configuration. A producer with a transactional id and"
        " without idempotence does not start"
        " (ProducerConfig.postProcessAndValidateIdempotenceConfigs), and a broker refuses a batch"
        " with a producer id and without a sequence number (LogValidator.validateBatch). A broker"
        " does not forget the sequence numbers of an open transaction"
        " (ProducerStateManager.isProducerExpired)."
    ),
}
