"""The versions of the spec `retention-abstract`. They differ in the condition for joining the ISR.

Source: KIP-107; Kafka 4.3 (Partition).
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import LATEST, kafka, unreleased
from model.retention_abstract.claims import AbstractRetentionClaims
from model.retention_abstract.state import Replica
from model.variants import version


@version(
    "joins-with-log-start",
    in_force=unreleased(
        "Kafka up to 4.3 lets a follower join the ISR before it has the leader's log start, and "
        "DeleteRecords waits for live replicas only"
    ),
    default=True,
)
class AbstractRetention(AbstractRetentionClaims):
    """The rules of Kafka 4.3 with two more conditions. A follower joins the ISR only after its log
    start has reached the leader's log start. A DeleteRecords request succeeds only after every
    member of the ISR and of the ELR has deleted the records.
    """


@version(
    "kafka-4.3",
    breaks="committed_records_are_kept",
    steps=8,
    in_force=kafka("3.5", LATEST, "reproduced on real brokers of 3.5.2 and 4.3"),
)
class Kafka43(AbstractRetention):
    """The rule of Kafka 4.3 for joining the ISR: a follower joins when its log reaches the high
    watermark, even if its log start is below the leader's log start.

    So a member of the ISR may have uncommitted records at offsets whose committed records were
    deleted. If this member becomes leader, consumers read the uncommitted records. The action
    `expand_isr` breaks the claim `committed_records_are_kept`. It also breaks the claim
    `deleted_stays_deleted`, because a follower that was away while DeleteRecords succeeded brings
    the deleted records back.
    """

    def has_log_start(s, r: Replica) -> Bool:
        """Returns True for every follower.

        Kafka: Partition.isFollowerInSync, which does not compare log starts.
        """
        return true
