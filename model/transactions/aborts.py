"""Transaction version 1: a client aborts after an error, and continues under the next epoch.

In transaction version 1, an abort keeps the producer epoch. So a late record of the aborted
transaction looks like a record of the next one. The client prevents this: after the abort, it sends
InitProducerId with its producer id and epoch (KIP-360), and the coordinator raises the epoch. Then
every late request of the aborted transaction has an old epoch, and is refused.

A commit keeps the epoch too, and no client sends InitProducerId after it. So a late EndTxn of a
committed transaction still ends the next transaction, as in the version `verification`.

Source: KIP-360; KAFKA-8805; TransactionManager.beginCompletingTransaction of kafka-clients 3.9;
TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka 3.9.
Simplified: as in `continuation`. Every abort follows an error; after an abort without an error,
Kafka's client keeps its epoch. No request to add a partition is late.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    exists,
    forall,
    implies,
    nothing,
    true,
    when,
    witness,
)
from model.releases import kafka
from model.transactions.continuation import Continuation
from model.transactions.state import ABORT, COMMIT, QUIET, Instance, TopicPartition, Transaction
from model.transactions.versions import Verification
from model.variants import bug, version


@version(
    "kip-360-v1",
    breaks="the_client_decides",
    steps=10,
    at={**QUIET, "ends_late": True},
    issue="KAFKA-17754",
    in_force=kafka("3.6", "3.9", needs="clients that continue with InitProducerId"),
)
class AbortAndContinue(Continuation, Verification):
    """The version `verification`, but clients abort after an error, and continue under the next
    epoch (KIP-360).

    A commit still keeps the epoch, so a late copy of its EndTxn ends the next transaction
    (KAFKA-17754).
    """

    @action
    def fail_append(s) -> None:
        """An append to the coordinator's log fails because too few replicas are in sync.

        Kafka, the simplification and the guard: as in `Version1`.
        """
        super().fail_append()
        s.appends_last = s.has_last

    def has_next_epoch(s, k: Transaction, i: Instance) -> Bool:
        """True if the client has received another epoch, or another producer id, since the
        transaction began.
        """
        return s.stamp[k] != s.stamp_of(i)

    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction; after an abort, it first waits for its next epoch.

        Kafka: TransactionManager.beginCompletingTransaction. The simplification and the other
        guards: as in `Continuation`. Without the next epoch, the claim `no_hanging_transaction`
        breaks (bug `keeps-epoch-after-abort`, 12 steps).
        """
        when(
            forall(
                implies(
                    (s.owner[j] == i) & (s.requested[j] == ABORT),
                    s.has_next_epoch(j, i),
                )
                for j in Transaction
            )
        )
        super().begin(k, i)

    # ---- witnesses

    @witness
    def a_client_commits_after_an_abort(s) -> Bool:
        """Reachable: a client aborts a transaction, continues under the next epoch, and commits
        another transaction.
        """
        return exists(
            all_of(
                s.owner[j] == i,
                s.owner[k] == i,
                s.end_confirmed[j] & (s.requested[j] == ABORT),
                s.end_confirmed[k] & (s.requested[k] == COMMIT),
                s.stamp[j].producer_epoch < s.stamp[k].producer_epoch,
            )
            for i in Instance
            for j in Transaction
            for k in Transaction
        )

    @witness
    def a_late_record_meets_the_next_transaction(s) -> Bool:
        """Reachable: a record of an aborted transaction is in flight, while the client's next
        transaction is open in the same partition.
        """
        return exists(
            all_of(
                s.owner[j] != nothing,
                s.owner[j] == s.owner[k],
                s.requested[j] == ABORT,
                s.is_in_flight(p, j),
                s.has_record(p, k),
                s.decided[k] == nothing,
            )
            for p in TopicPartition
            for j in Transaction
            for k in Transaction
        )


@bug(
    "keeps-epoch-after-abort",
    breaks="no_hanging_transaction",
    steps=12,
    at={**QUIET, "records_late": True},
    fixed_by="kip-360-v1",
    issue="KAFKA-8805",
    in_force=kafka("3.6", "3.9", needs="a client of Kafka 2.4 or older"),
)
class KeepsEpochAfterAbort(AbortAndContinue):
    """A client begins the next transaction under the epoch of the aborted one.

    A late record of the aborted transaction arrives during the next transaction. The coordinator
    confirms its epoch, so the leader appends it to the next transaction, which may commit it
    (KAFKA-8805).
    """

    def has_next_epoch(s, k: Transaction, i: Instance) -> Bool:
        return true
