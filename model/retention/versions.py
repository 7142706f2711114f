"""The versions of the retention spec: the rules of Kafka 4.3, with and without a stricter condition
for joining the ISR.

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
    """The rules of Kafka 4.3 with one more condition: a follower joins the ISR only after its log
    start has reached the leader's log start.

    No release of Kafka has this condition.
    """


@version(
    "kafka-4.3",
    breaks="latest_values_are_kept",
    steps=8,
    in_force=kafka("3.5", LATEST, "reproduced on real brokers of 3.5.2 and 4.3"),
)
class Kafka43(Retention):
    """The rules of Kafka 4.3: a follower joins the ISR when its log reaches the high watermark,
    even if its log start is below the leader's log start.

    A new follower asks the leader for the end offset of an old leader epoch. If the leader has
    deleted the records of that epoch, the leader answers with its own log start. So the follower
    retains its records below this log start, even uncommitted ones, until it learns the log start.
    If the follower becomes leader before it learns the log start, consumers read these records. No
    report of this failure is known outside this project.
    """

    def has_heard_log_start(s, r: Replica) -> Bool:
        """Returns True for every follower.

        Kafka: Partition.isFollowerInSync, which does not compare log starts.
        """
        return true
