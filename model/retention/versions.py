"""The only version of the retention spec: KIP-107 with a stricter rule for joining the ISR."""

from __future__ import annotations

from model.releases import unreleased
from model.retention.claims import RetentionClaims
from model.variants import version


@version(
    "kip-107",
    in_force=unreleased(
        "Kafka up to 4.3 lets a follower join the ISR before it has the leader's log start"
    ),
    default=True,
)
class Retention(RetentionClaims):
    """Kafka 3.7, but a follower joins the ISR only after its log start has reached the leader's.

    No release of Kafka has this additional rule. The bug `joins-with-old-records` is Kafka without
    the rule.
    """
