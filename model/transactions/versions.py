"""The versions of the transaction protocol, from Kafka 0.11 to 4.2.

Each line has the name of a version of the spec, and the releases of Kafka whose rules it models:

    v1             Kafka 0.11 to 3.5: before KIP-890
    verification   Kafka 3.6 to 3.9: the first part of KIP-890
    lax-markers    Kafka 4.0 and 4.1: transaction version 2 (KIP-890), but without KIP-1228
    v2             Kafka 4.2 and later: transaction version 2 with KIP-1228

The version `verification` adds one action:

    coordinator  fail_append

In all of these versions, a client closes after an error. The modules `continuation` and `aborts`
have clients that continue after an error.

Source: KIP-98; KIP-890; KAFKA-9666, as in Apache Kafka 3.5, 3.6 and 4.0.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Scope,
    action,
    all_of,
    exists,
    false,
    invariant,
    ite,
    nothing,
    true,
    when,
)
from model.releases import LATEST, kafka
from model.transactions.claims.promises import TransactionsClaims
from model.transactions.state import (
    ABORT,
    ONGOING,
    PREPARE,
    QUIET,
    CoordinatorEpoch,
    Instance,
    Outcome,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
)
from model.variants import version


class Failure(Int):
    """The number of appends to the coordinator's log that have failed so far."""


@version("v2", in_force=kafka("4.2", LATEST), default=True)
class Transactions(TransactionsClaims):
    """Transaction version 2: each transaction has its own epoch (KIP-890), and partitions refuse
    late markers (KIP-1228).
    """


@version(
    "v1",
    breaks="no_hanging_transaction",
    steps=8,
    at={**QUIET, "records_late": True, "transactions": 1},
    fixed_by="verification",
    issue="KAFKA-14402",
    in_force=kafka("0.11", "3.5"),
)
class Version1(Transactions):
    """Before KIP-890: all transactions of an instance share one producer epoch, and leaders verify
    no transaction.

    A record that arrives after the marker of its transaction opens a transaction that never ends:
    the transaction hangs (KAFKA-14402).
    """

    append_failures: Annotated[int, range(5)] = 0  # of the coordinator's log

    failures: Failure
    fence_failed: Bool  # the log lacks the coordinator's epoch

    def scope(s) -> Scope:
        return {**super().scope(), Failure: s.append_failures + 1}

    # ---- partitions

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True always: before KIP-890, leaders do not verify transactions with the
        coordinator.
        """
        return true

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if the partition accepts a marker with this producer id and epoch. It
        accepts the marker unless its log has a larger epoch of the producer id.
        """
        return ~s.fences(p, i, producer_epoch)

    # ---- the coordinator

    def asks_to_add(s, k: Transaction, p: TopicPartition) -> Bool:
        """Returns True if the client may ask the coordinator to add the partition. In transaction
        version 1, the client asks before it sends its record.
        """
        return s.is_waiting(k) & ~s.sent[k][p]

    def ends_epochs(s) -> Bool:
        """Returns False always: in transaction version 1, a commit or abort does not change the
        epoch, so it cannot use up the last epoch.
        """
        return false

    def epoch_of_decision(s) -> ProducerEpoch:
        """Returns the producer's present epoch. In transaction version 1, a commit or abort does
        not change the epoch.
        """
        return s.metadata.producer_epoch

    def epoch_of_fence(s) -> ProducerEpoch:
        """Returns the epoch of the next fence (an abort by the coordinator itself): the producer's
        epoch plus 1. If the append of the previous fence failed, returns the epoch of that fence
        again (KAFKA-9666).
        """
        producer_epoch = s.metadata.producer_epoch
        return ite(s.fence_failed, producer_epoch, producer_epoch + 1)

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction under the next producer epoch.

        The coordinator's metadata has the new epoch before the abort is committed.

        Kafka: TransactionCoordinator before 4.0.
        Simplified: a fence (an abort by the coordinator itself) may happen at any time.

        After a failed append, the next fence must use the epoch of the failed fence
        (`epoch_of_fence`). Without this rule, the claim `metadata_is_the_log` breaks (bug
        `forgets-failed-fence`, 8 steps).
        """
        producer_epoch = s.epoch_of_fence()
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, producer_epoch, s.ends_epochs())
        s.metadata.producer_epoch = producer_epoch

    def appends_wait(s) -> bool:
        """Returns True if an append to the coordinator's log and the commit of the appended record
        are two steps. Between the two steps, the append may be lost or fail.

        If the constants `coordinator_failures` and `append_failures` are 0, no append is lost or
        fails, and the two steps are one.
        """
        return s.coordinator_failures + s.append_failures > 0

    @action
    def fail_append(s) -> None:
        """An append to the coordinator's log fails because too few replicas are in sync.

        Kafka: the callback of TransactionStateManager.appendTransactionToLog gets
        NOT_ENOUGH_REPLICAS; a failed fence sets TransactionMetadata.hasFailedEpochFence.
        Simplified: the failed record never reaches the log. In Kafka, it stays in the log after
        NOT_ENOUGH_REPLICAS_AFTER_APPEND or a timeout, and may be committed later.

        Every claim also holds without the guard `is_appending`, because without a pending append
        the action changes no log.
        """
        appended, committed = s.transaction_state.appended, s.transaction_state.committed
        fenced = (appended.state == PREPARE) & (committed.producer_epoch < appended.producer_epoch)
        when(s.is_appending(), s.failures < s.append_failures)
        s.failures = s.failures + 1
        s.fence_failed = s.fence_failed | fenced
        s.answering = nothing
        s.transaction_state.appended = committed

    @action(fair="weak")
    def commit_append(s) -> None:
        """The record that the coordinator appended to its log is committed.

        Kafka: TransactionMetadata.completeTransitionTo. Kafka clears hasFailedEpochFence when a
        transaction ends (prepareComplete): from then on, the log has the epoch that the failed
        fence could not append.
        Simplified: every committed append clears `fence_failed`.

        The action has the same guard as in transaction version 2.
        """
        super().commit_append()
        s.fence_failed = false

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log; appends that are not committed are lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: the simplifications and the guards are those of the action in `Coordinator`.

        The log does not contain a fence whose append failed, so the new coordinator clears
        `fence_failed`. Otherwise its next fence would not raise the epoch.
        """
        super().fail_over(epoch)
        s.fence_failed = false

    # ---- clients

    def may_send(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the coordinator has added the partition to the transaction. Only then may
        the client send a record of the transaction to the partition.
        """
        return s.has_added(k, p)

    def may_ask_for_nothing(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the transaction `k` has a record or an added partition. Otherwise, the
        client requests neither a commit nor an abort. In transaction version 2, a client may also
        abort an empty transaction.
        """
        return exists(s.sent[k][p] | s.has_added(k, p) for p in TopicPartition)

    def may_end(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if `k` has the producer id and epoch in the coordinator's metadata, and a
        transaction is open.

        The open transaction may be another transaction than `k`, because the client's request names
        no transaction.
        """
        return s.is_current(k) & (s.metadata.state == ONGOING)

    def is_decided_under(s, k: Transaction) -> Bool:
        """Returns True if `k` has the current producer id and epoch. The coordinator's newest
        decision may then be about `k`, because a decision does not change the epoch in transaction
        version 1.
        """
        return s.is_current(k)

    # ---- claims

    def may_be_fenced(s, i: Instance) -> Bool:
        """Returns True if the instance may receive an error. In addition to the reasons of
        transaction version 2, it may receive an error after the coordinator tried to raise the
        epoch, but failed to append the new epoch to its log.
        """
        return super().may_be_fenced(i) | s.fence_failed

    @invariant
    def metadata_is_the_log(s) -> Bool:
        """The coordinator's metadata equals the latest committed record of its log, except for the
        producer epoch.

        The epoch in the metadata may be larger by 1, because a fence raises it before the abort is
        committed.
        """
        m, committed = s.metadata, s.transaction_state.committed
        return all_of(
            m.state == committed.state,
            m.partitions == committed.partitions,
            m.producer_id == committed.producer_id,
            m.producer_epoch <= committed.producer_epoch + 1,
        )


@version(
    "verification",
    breaks="the_client_decides",
    steps=10,
    at={**QUIET, "ends_late": True},
    issue="KAFKA-17754",
    in_force=kafka("3.6", "3.9"),
)
class Verification(Version1):
    """The first part of KIP-890: before a leader opens a transaction in its partition, it verifies
    the transaction with the coordinator.

    A request to end a transaction does not name the transaction, so a late copy of the request ends
    the next transaction (KAFKA-17754).
    """

    def is_ongoing(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the partition has an open transaction with the producer id of `k`. The
        producer epoch may be another one.
        """
        return s.has_open(p, s.stamp[k].producer_id)

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the transaction's producer id has an open transaction in the partition,
        or the leader has verified the transaction with the coordinator.
        """
        return s.is_ongoing(p, k) | s.verified[k][p]


@version(
    "lax-markers",
    breaks="markers_close_their_own",
    steps=14,
    at={**QUIET, "markers_late": True},
    issue="KAFKA-19446",
    in_force=kafka("4.0", "4.1"),
)
class LaxMarkers(Transactions):
    """Transaction version 2 as in Kafka 4.0: a partition accepts a marker even if its log already
    has records with the marker's epoch.

    The marker of a transaction carries the epoch of the next transaction. If the marker is
    delivered a second time, it closes the next transaction (KAFKA-19446).
    """

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if the partition accepts a marker with this producer id and epoch. It
        accepts the marker unless its log has a larger epoch of the producer id.
        """
        return ~s.fences(p, i, producer_epoch)
