"""Transaction version 1: a client aborts after an error, and continues under the next epoch.

In transaction version 1, an abort does not change the producer epoch. So a late record of the
aborted transaction looks like a record of the next transaction. The client prevents this confusion:
after the abort, it sends InitProducerId with its producer id and epoch (KIP-360), and the
coordinator raises the epoch. Every late request of the aborted transaction then has an old epoch,
and is refused.

A commit does not change the epoch either, and no client sends InitProducerId after a commit. So a
late EndTxn of a committed transaction still ends the next transaction, as in the version
`verification`.

Source: KIP-360; KAFKA-8805; TransactionManager.beginCompletingTransaction of kafka-clients 3.9;
TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka 3.9.
Simplified: the simplifications of the module `continuation` apply. Every abort follows an error. In
Kafka, a client that aborts without an error retains its epoch. No request to add a partition is
late.
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
    when,
    witness,
)
from model.releases import kafka
from model.transactions.continuation import Continuation
from model.transactions.state import ABORT, COMMIT, QUIET, Instance, TopicPartition, Transaction
from model.transactions.versions import Verification
from model.variants import version


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

    A commit does not change the epoch. So a late copy of the EndTxn request for a commit ends the
    next transaction (KAFKA-17754).
    """

    @action
    def fail_append(s) -> None:
        """An append to the coordinator's log fails because too few replicas are in sync.

        Kafka: the source, the simplification and the guard are those of the action in `Version1`.
        """
        super().fail_append()
        s.appends_last = s.has_last

    def has_next_epoch(s, k: Transaction, i: Instance) -> Bool:
        """Returns True if the client has received another epoch or another producer id after the
        begin of the transaction `k`.
        """
        return s.stamp[k] != s.stamp_of(i)

    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction. After an abort, it first waits for its next epoch.

        Kafka: TransactionManager.beginCompletingTransaction.
        Simplified: as in the class `Continuation`, whose guards this action also has.

        If the client does not wait for the next epoch, the claim `no_hanging_transaction` breaks
        (bug `keeps-epoch-after-abort`, 12 steps).
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
        """Reachable: a client has aborted a transaction, continued under a larger epoch, and
        committed a later transaction.
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
        """Reachable: a record of an aborted transaction is in flight, while another transaction of
        the same client is open in the same partition.
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
