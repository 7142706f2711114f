"""A fence for a new instance, and the bug that gives the fenced instance the new epoch.

If a new instance (client) asks for a producer id while the old instance has an open transaction,
the coordinator aborts this transaction (a *fence*) and raises the epoch by one. The new instance
repeats its request until the abort is complete.

Meanwhile, the old instance may send EndTxn with the previous epoch. The retry of a successful
EndTxn also has the previous epoch, so the coordinator cannot distinguish the two requests by the
epoch. The version `strict-fence` refuses every EndTxn of a fenced transaction. The bug
`fence-looks-like-an-end` treats the EndTxn as a retry, and answers with the new epoch.

The version `strict-fence` adds one action:

    coordinator  init_producer_id

Source: KIP-890; KAFKA-19367; TransactionMetadata.prepareAbortOrCommit and
TransactionCoordinator.endTransaction of Apache Kafka 4.3.
Simplified: all clients have transaction version 2, and receive the new epoch by EndTxn. Older
clients receive it by InitProducerId with their producer id and epoch (KIP-360).
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    Set,
    action,
    action_property,
    all_of,
    exists,
    forall,
    implies,
    nothing,
    true,
    when,
)
from model.releases import unreleased
from model.transactions.state import (
    ABORT,
    QUIET,
    CoordinatorEpoch,
    Instance,
    Outcome,
    Transaction,
)
from model.transactions.versions import Transactions
from model.variants import Constants, version

TWO_INSTANCES: Constants = {**QUIET, "instances": 2, "transactions": 1}


@version(
    "strict-fence",
    at={"instances": 2},
    in_force=unreleased("a proposal: no release has this rule"),
)
class StrictFence(Transactions):
    """After a fence (an abort on behalf of a new instance), the old instance receives no new epoch.

    The coordinator refuses the EndTxn of the old instance, and does not treat it as a retry.
    """

    # A retry of EndTxn is detected by the previous epoch, which is stored when a transaction
    # ends. Here a fence stores no previous epoch, as in transaction version 1.

    fenced: Set[Transaction]  # aborted because a newer instance asked for a producer id

    @action
    def init_producer_id(s, i: Instance) -> None:
        """A new instance asks for a producer id, and the coordinator first aborts the open
        transaction.

        Kafka: TransactionCoordinator.handleInitProducerId, answer CONCURRENT_TRANSACTIONS.
        Simplified: the request and the start of the abort are one step.

        Without the guard `may_fence`, a transaction that is not open is aborted, and the claim
        `states_follow_the_table` breaks.
        """
        when(s.may_init(i), s.may_fence())
        k = s.metadata.transaction
        s.fenced[k] = true
        s.prepare(k, ABORT, s.epoch_of_decision(), s.ends_epochs())

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log. A fence is lost if its abort is not committed.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: the simplifications and the guards are those of the action in `Coordinator`.

        After a fence is lost, its transaction is open again, and no longer marked as fenced. If it
        were still marked as fenced, no instance could end it.
        """
        super().fail_over(epoch)
        for k in Transaction:
            s.fenced[k] = s.fenced[k] & (s.decided[k] != nothing)

    def is_barred(s, k: Transaction) -> Bool:
        """Returns True if a fence has aborted the transaction. The coordinator then refuses every
        request to end the transaction.
        """
        return s.fenced[k]

    def is_done(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the coordinator answers EndTxn with success. It never does so for a
        fenced transaction.
        """
        return super().is_done(k, outcome) & ~s.is_barred(k)

    def is_known(s, k: Transaction) -> Bool:
        return super().is_known(k) & ~s.is_barred(k)

    def may_be_fenced(s, i: Instance) -> Bool:
        """Returns True if the instance may receive an error. In addition to the reasons of `v2`, it
        may receive an error as soon as a newer instance has asked for a producer id, and this
        request has fenced a transaction of `i`.
        """
        asked = exists(all_of(s.owner[k] == i, s.fenced[k]) for k in Transaction)
        return super().may_be_fenced(i) | asked

    @action_property
    def the_fenced_get_no_epoch(s, after: Self) -> Bool:
        """If a transaction was aborted for a newer instance, the instance that began the
        transaction receives no new epoch.
        """
        return forall(
            implies(
                all_of(s.fenced[k], s.owner[k] == i),
                after.producer[i].producer_epoch == s.producer[i].producer_epoch,
            )
            for k in Transaction
            for i in Instance
        )
