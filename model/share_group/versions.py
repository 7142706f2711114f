"""The versions of the spec `share-group`: Kafka 4.3, and a version whose stored start offset
only grows.
"""

from __future__ import annotations

from model.language import Bool, nothing, true
from model.releases import LATEST, kafka, unreleased
from model.share_group.claims import ShareGroupClaims
from model.share_group.state import Offset, Slot
from model.variants import version


@version(
    "start-offset-grows",
    in_force=unreleased(
        "Kafka's pull request 23074, which was merged after 4.3.1, and two proposed rules: a "
        "leader moves its start offset after a failed write too, and the first leader stores it"
    ),
    default=True,
)
class ShareGroup(ShareGroupClaims):
    """Share groups of Kafka 4.3 with three additional rules for the start offset, which Kafka 4.3
    lacks.

    The stored start offset only grows. A leader looks for a new start offset also after a failed
    write, and after the topic has deleted records. The first leader stores the start offset that it
    has chosen.
    """


class MovesStartAfterWrites(ShareGroup):
    """The leader looks for a new start offset only after a write succeeds, or after a lock has
    timed out.
    """

    def moves_start(s, w: Slot, *, succeeds: bool) -> Bool:
        """Returns False if the write `w` stores an acknowledgement and has failed, and True for
        every other write.

        Kafka: SharePartition.rollbackOrProcessStateUpdates.
        """
        return true if succeeds else s.write[w].member == nothing

    def start_after_deletion(s) -> Offset:
        """Returns the log start, even if the records after the log start are already final.

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

    A leader that sends a write again may cause this: the write arrives after later writes, and its
    start offset is smaller than the stored one. The coordinator has already forgotten the records
    between the two offsets. So the next leader delivers these records again, although members have
    the answer that their acknowledgements succeeded. Real brokers do this:
    docs/findings/accepted-record-returns.md. This version also has the bug `start-offset-waits`.
    Kafka 4.3 has the bug `start-offset-is-not-stored` too, which is left out here.
    """

    def start_to_store(s, w: Slot) -> Offset:
        """Returns the start offset in the write `w`, even if the stored start offset is larger.

        Kafka: ShareCoordinatorShard.merge, generateShareStateRecord.
        """
        return s.write[w].start
