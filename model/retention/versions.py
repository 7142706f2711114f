"""The versions of the retention spec: Kafka 4.3, with and without a stricter rule for the ISR.

Source: KIP-107; Kafka 4.3 (Partition).
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import LATEST, kafka, unreleased
from model.retention.claims import RetentionClaims
from model.retention.state import Replica
from model.variants import version


@version(
    "kip-107",
    in_force=unreleased(
        "Kafka up to 4.3 lets a follower join the ISR before it has the leader's log start"
    ),
    default=True,
)
class Retention(RetentionClaims):
    """Kafka 4.3, but a follower joins the ISR only after its log start has reached the leader's.

    No release of Kafka has this rule.
    """


@version(
    "kafka-4.3",
    breaks="latest_values_are_kept",
    steps=8,
    in_force=kafka("3.5", LATEST, "reproduced on real brokers of 3.5.2 and 4.3"),
)
class Kafka43(Retention):
    """Kafka 4.3: a follower joins the ISR at the high watermark, whatever its log start is.

    A new follower asks the leader for the end offset of an old epoch. If the leader has deleted
    that epoch, the leader answers with its own log start. So the follower keeps records below this
    log start, even uncommitted ones, until it learns the log start. If the follower becomes leader
    earlier, consumers read these records. No report of this failure is known outside this project.
    """

    def has_heard_log_start(s, r: Replica) -> Bool:
        """True for every follower. Kafka: Partition.isFollowerInSync compares no log starts."""
        return true
