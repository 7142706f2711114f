"""The versions of the transaction protocol, from Kafka 0.11 to 4.2.

    v1             Kafka 0.11 to 3.5: before KIP-890
    verification   Kafka 3.6 to 3.9: the first part of KIP-890
    lax-markers    Kafka 4.0 and 4.1: transaction version 2 (KIP-890), but without KIP-1228
    v2             Kafka 4.2 and later: transaction version 2 with KIP-1228

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
    """Before KIP-890: all transactions of an instance share one epoch, and leaders verify nothing.

    If a record arrives after the marker of its transaction, it opens a transaction that never
    ends: the transaction hangs (KAFKA-14402). This version breaks the claim
    `no_hanging_transaction`.
    """

    append_failures: Annotated[int, range(5)] = 0  # of the coordinator's log

    failures: Failure
    fence_failed: Bool  # the log lacks the coordinator's epoch

    def scope(s) -> Scope:
        return {**super().scope(), Failure: s.append_failures + 1}

    # ---- partitions

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        """Always true: before KIP-890, leaders verify no transaction."""
        return true

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """True unless the log has a larger epoch of this producer id than the marker's epoch."""
        return ~s.fences(p, i, producer_epoch)

    # ---- the coordinator

    def asks_to_add(s, k: Transaction, p: TopicPartition) -> Bool:
        """True if the client may ask the coordinator to add the partition to its transaction.

        In transaction version 1, the client asks before it sends its record to the partition.
        """
        return s.is_waiting(k) & ~s.sent[k][p]

    def ends_epochs(s) -> Bool:
        """Always false: in transaction version 1, a commit or abort does not change the epoch."""
        return false

    def epoch_of_decision(s) -> ProducerEpoch:
        """Returns the producer epoch after a commit or abort.

        In transaction version 1, a commit or abort does not change the producer epoch.
        """
        return s.metadata.producer_epoch

    def epoch_of_fence(s) -> ProducerEpoch:
        """Returns the epoch of a fence: the producer's epoch plus 1.

        If the append of the previous fence failed, returns the previous fence's epoch again
        (KAFKA-9666).
        """
        producer_epoch = s.metadata.producer_epoch
        return ite(s.fence_failed, producer_epoch, producer_epoch + 1)

    @action(fair="weak")
    def fence(s) -> None:
        """The coordinator aborts an ongoing transaction under the next epoch.

        The coordinator's metadata gets the new epoch at once, before the abort in its log is
        committed. Kafka: TransactionCoordinator before 4.0. Simplified: this may happen at any
        time. If the append of the abort fails, the next fence must use the same epoch again
        (`epoch_of_fence`). Without this rule, the variant `forgets-failed-fence` breaks the claim
        `metadata_is_the_log` in 8 steps.
        """
        producer_epoch = s.epoch_of_fence()
        when(s.may_fence())
        s.prepare(s.metadata.transaction, ABORT, producer_epoch, s.ends_epochs())
        s.metadata.producer_epoch = producer_epoch

    def appends_wait(s) -> bool:
        """True if an append to the coordinator's log and its commit are two separate steps.

        Between the two steps, the append may be lost or may fail. If the constants
        `coordinator_failures` and `append_failures` are 0, every append is committed at once.
        """
        return s.coordinator_failures + s.append_failures > 0

    @action
    def fail_append(s) -> None:
        """An append to the coordinator's log fails because too few replicas are in sync.

        Kafka: the callback of TransactionStateManager.appendTransactionToLog gets the error
        NOT_ENOUGH_REPLICAS; a failed fence sets TransactionMetadata.hasFailedEpochFence.
        Simplified: the failed record never reaches the log. Every claim also holds without the
        guard `is_appending`: if no append is in progress, the action changes no log.
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

        Kafka: TransactionMetadata.completeTransitionTo. When a transaction ends, Kafka also clears
        hasFailedEpochFence (prepareComplete): the log then has the epoch of the failed fence.
        Simplified: every committed append clears `fence_failed`. The guard is the same as in
        transaction version 2.
        """
        super().commit_append()
        s.fence_failed = false

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log; appends that are not committed are lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition. Simplified: like the
        action `fail_over` of transaction version 2, with the same guards. A fence whose append
        failed is not in the log, so the new coordinator clears `fence_failed`. Otherwise a fence
        after the fail-over would not raise the epoch (`epoch_of_fence`).
        """
        super().fail_over(epoch)
        s.fence_failed = false

    # ---- clients

    def may_send(s, p: TopicPartition, k: Transaction) -> Bool:
        """True if the coordinator has added the partition to the transaction."""
        return s.has_added(k, p)

    def may_ask_for_nothing(s, k: Transaction, outcome: Outcome) -> Bool:
        """True if the transaction has a record or an added partition, so its client may end it.

        In transaction version 2, a client may also abort a transaction without records and
        partitions.
        """
        return exists(s.sent[k][p] | s.has_added(k, p) for p in TopicPartition)

    def may_end(s, k: Transaction, outcome: Outcome) -> Bool:
        """True if `k` has the producer id and epoch in the coordinator's metadata, and a
        transaction is open.

        The open transaction may be another one than `k`, because the client's request names no
        transaction.
        """
        return s.is_current(k) & (s.metadata.state == ONGOING)

    def is_decided_under(s, k: Transaction) -> Bool:
        """True if the coordinator's newest commit or abort may belong to this transaction.

        In transaction version 1, a commit or abort changes neither producer id nor epoch. So the
        coordinator's producer id and epoch must be those of the transaction.
        """
        return s.is_current(k)

    # ---- claims

    def may_be_fenced(s, i: Instance) -> Bool:
        """True if there is a reason to fence the instance.

        The reason is a newer instance, a timeout or an expired transactional id. A fourth reason is
        an earlier attempt to fence, whose abort could not be appended to the coordinator's log.
        """
        return super().may_be_fenced(i) | s.fence_failed

    @invariant
    def metadata_is_the_log(s) -> Bool:
        """The coordinator's metadata equals the last committed record of its log, except for the
        producer epoch.

        The epoch in the metadata is at most 1 larger than the epoch in the record.
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
    """The first part of KIP-890: a leader verifies a transaction before it opens the transaction.

    A request to end a transaction still names no transaction, so a late copy ends the next
    transaction (KAFKA-17754). This version breaks the claim `the_client_decides`.
    """

    def is_ongoing(s, p: TopicPartition, k: Transaction) -> Bool:
        """True if the transaction's producer id has an open transaction in the partition."""
        return s.has_open(p, s.stamp[k].producer_id)

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        """True if the producer id has an open transaction in the partition, or the transaction is
        verified.
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
    """Transaction version 2 as in Kafka 4.0: a partition accepts a marker even if it already has
    records of the marker's epoch.

    The marker of one transaction carries the epoch of the next transaction. If this marker is
    delivered again, it closes the next transaction (KAFKA-19446). This version breaks the claim
    `markers_close_their_own`.
    """

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """True unless the log has a larger epoch of this producer id than the marker's epoch."""
        return ~s.fences(p, i, producer_epoch)
