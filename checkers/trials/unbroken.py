"""Why no trial breaks a claim outside its condition on Apache Kafka 4.3.0, in plain words.

A claim is in this table if and only if no trial has a verdict on it outside its condition. A reason
that begins with `OPEN` says that a trial is still to be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUBJECT: Final = "apache-kafka:4.3.0"
OPEN: Final = "Not decided yet:"
BECAUSE: Final[Mapping[tuple[str, str], str]] = {  # (suite, claim) -> the reason
    ("transactions", "transactional_implies_idempotent"): (
        "Kafka keeps this promise in every configuration. A producer with a transactional id and"
        " without idempotence does not start"
        " (ProducerConfig.postProcessAndValidateIdempotenceConfigs), and a broker refuses a batch"
        " with a producer id and without a sequence number (LogValidator.validateBatch). A broker"
        " does not forget the sequence numbers of an open transaction"
        " (ProducerStateManager.isProducerExpired)."
    ),
    ("transactions", "retry_resumes"): f"{OPEN} three trials showed no violation.",
    ("groups", "position_resumes"): f"{OPEN} the trial is still to be made.",
}
