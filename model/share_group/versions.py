"""The versions of share groups: Kafka 4.3, and a version whose stored start offset only grows."""

from __future__ import annotations

from model.language import Bool, nothing, true
from model.releases import LATEST, kafka, unreleased
from model.share_group.claims import ShareGroupClaims
from model.share_group.state import Offset, Slot
from model.variants import version


@version(
    "start-offset-grows",
    in_force=unreleased(
        "Kafka's pull request 23074, which was merged after 4.3.1, and a proposed rule: a leader "
        "moves its start offset after a failed write too"
    ),
    default=True,
)
class ShareGroup(ShareGroupClaims):
    """Share groups of Kafka 4.3, plus two rules for the start offset that Kafka 4.3 lacks.

    The stored start offset only grows. A leader looks for a new start offset also after a write has
    failed, and after the topic has deleted records.
    """


class MovesStartAfterWrites(ShareGroup):
    """The leader looks for a new start offset after a write to the coordinator succeeds, or after a
    lock has timed out.

    After a failed acknowledgement, or after the topic has deleted records, the leader does not look
    for a new start offset.
    """

    def moves_start(s, w: Slot, *, succeeds: bool) -> Bool:
        """True if the leader looks for a new start offset when it learns the result of a write.

        The result is false only for an acknowledgement that failed. Kafka:
        SharePartition.rollbackOrProcessStateUpdates.
        """
        return true if succeeds else s.write[w].member == nothing

    def start_after_deletion(s) -> Offset:
        """Returns the log start, even if the records after it are already acknowledged or archived.

        Kafka: SharePartition.updateCacheAndOffsets.
        """
        return s.log_start


@version(
    "kafka-4.3",
    breaks="acknowledgements_last",
    steps=12,
    at={"members": 1, "writes": 2, "max_failures": 0, "max_deleted": 0},
    issue="apache/kafka#23074",
    in_force=kafka("4.2", LATEST, "fixed after 4.3.1; reproduced on real brokers"),
)
class Kafka43(MovesStartAfterWrites):
    """Kafka 4.3: a write that arrives late moves the stored start offset back.

    The coordinator forgets the records below the start offset. A write is repeated after a failure,
    and may arrive after later writes. Then the stored start offset goes back below records that
    the coordinator has forgotten. The next leader delivers these records again, although members
    have received the answer that their acknowledgements succeeded. Real brokers do this:
    docs/findings/accepted-record-returns.md. This version breaks the claim `acknowledgements_last`.
    It also has the bug `start-offset-waits`.
    """

    def start_to_store(s, w: Slot) -> Offset:
        """Returns the start offset that the coordinator stores for a write: the start offset in the
        write.

        Kafka stores this offset even if the stored start offset is larger.

        Kafka: ShareCoordinatorShard.merge, generateShareStateRecord.
        """
        return s.write[w].start
