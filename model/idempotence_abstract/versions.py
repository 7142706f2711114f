"""The versions of the spec `idempotence-abstract`: two are proved, and one breaks a claim.

The version `kip-360` (the default) has one log and no clients. The version `with-restarts` has
clients that number their batches again, and leaders that restart. In the version
`snapshot-keeps-newest`, as in Kafka, a leader that restarts detects only a retry of the newest
batch of each producer. This version breaks the claim `at_most_once`.
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
    """A leader appends only the record that continues the producer's records in the log.

    The first record of a producer epoch has sequence 0. Kafka up to 4.3 checks this for a producer
    that it knows, and in transactions of version 2; the full check is promised (KAFKA-15591).
    """


@version(
    "with-restarts",
    in_force=unreleased("proposed: a snapshot of Kafka keeps one batch of each producer"),
)
class WithRestarts(RestartsClaims):
    """Clients number their batches again after a refusal. A leader that restarts can detect a retry
    of any batch in its log.
    """


@version(
    "snapshot-keeps-newest",
    breaks="at_most_once",
    steps=8,
    in_force=kafka("2.5", LATEST, "and a check of first sequences; reproduced on real brokers"),
    fixed_by="with-restarts",
)
class SnapshotKeepsNewest(WithRestarts):
    """A leader that restarts detects only a retry of the newest batch of each producer.

    The producer sends an older batch again, because the answer to this batch was lost. The leader
    refuses the batch as out of order, although the batch is in the log. The client gives the batch
    a new sequence number, and the leader appends the batch again. The proof fails at the action
    `restart`, which does not preserve the lemma `the_window_has_the_log`. This version breaks the
    claim `at_most_once`.
    """

    def is_restored(s, offset: Offset, end: Offset) -> Bool:
        """True if the record at `offset` is the newest record of its producer below the log end
        `end`.

        A leader that restarts detects retries of these records only. Kafka:
        ProducerStateManager.writeSnapshot and readSnapshot.
        """
        return forall(
            implies(
                all_of(o < end, s.stamp[o].producer == s.stamp[offset].producer),
                o <= offset,
            )
            for o in Offset
        )
