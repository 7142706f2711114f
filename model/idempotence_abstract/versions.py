"""The versions of the spec `idempotence-abstract`. The claims of two versions are proved, and one
version breaks a claim.

The version `kip-360` (the default) has one log and no clients.
"""

from __future__ import annotations

from model.idempotence_abstract.claims import AbstractIdempotenceClaims
from model.idempotence_abstract.restarts import RestartsClaims
from model.idempotence_abstract.state import Offset
from model.language import Bool, all_of, forall, implies
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version(
    "kip-360",
    in_force=unreleased("Kafka up to 4.3 does not check every first sequence, see KAFKA-15591"),
    default=True,
)
class IdempotentProducer(AbstractIdempotenceClaims):
    """A leader appends a record only if it continues the producer's records in the log.

    The first record of a producer epoch has sequence 0. Kafka up to 4.3 checks this only for a
    known producer, and in transactions of version 2 (KAFKA-15591).
    """


@version(
    "with-restarts",
    in_force=unreleased("proposed: a snapshot of Kafka keeps one batch of each producer"),
)
class WithRestarts(RestartsClaims):
    """Clients give a batch a new sequence number after the leader has refused the batch. A leader
    that has restarted detects a retry of any batch in its log.
    """


@version(
    "snapshot-keeps-newest",
    breaks="at_most_once",
    steps=8,
    in_force=kafka("2.5", LATEST, "and a check of first sequences; reproduced on real brokers"),
    fixed_by="with-restarts",
)
class SnapshotKeepsNewest(WithRestarts):
    """A leader that has restarted detects only a retry of the newest batch of each producer.

    If the answer to an older batch was lost, the producer sends this batch again, and the leader
    refuses the batch as out of order. The client gives the batch a new sequence number, and the
    leader appends the batch a second time. The proof fails at the action `restart`, which does not
    preserve the lemma `the_window_has_the_log`.
    """

    def is_restored(s, offset: Offset, end: Offset) -> Bool:
        """Returns True if the record at `offset` is the newest record of its producer below `end`.

        Kafka: ProducerStateManager.writeSnapshot and readSnapshot.
        """
        return forall(
            implies(
                all_of(o < end, s.stamp[o].producer == s.stamp[offset].producer),
                o <= offset,
            )
            for o in Offset
        )
