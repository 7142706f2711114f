"""The version `with-failover` of the spec `pipeline-abstract`: the coordinator may fail.

The coordinator appends each decision and each new epoch to its log. The record takes effect when it
is committed. If the coordinator fails before that, the record is lost: the transaction is still
ongoing, and the client sends its request again. If the coordinator fails later, the next
coordinator reads the decision (PrepareCommit or PrepareAbort) from the log, and completes the
transaction.

This version has the actions of the version `with-late-requests`, and the actions in this table. No
action is fair.

    coordinator  commit_end, commit_init, fail_over

Source: TransactionStateManager.appendTransactionToLog and loadTransactionsForTxnTopicPartition of
Apache Kafka 4.3.
Simplified: the log of all transactional ids is one partition. The records that open and complete a
transaction are committed at once. A failed coordinator may still send markers, because each marker
stays in the network. Partitions do not compare coordinator epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    ite,
    lemma,
    nothing,
    when,
    witness,
)
from model.pipeline_abstract.late_requests import WithLateRequests
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.slices import WITH_FAILOVER
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId
from model.releases import LATEST, kafka
from model.variants import version


class FailoverActions(WithLateRequests):
    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = WITH_FAILOVER

    is_appending: Set[TransactionalId]  # the last record of its log is not committed
    appends_end: Set[TransactionalId]  # this record is PrepareCommit or PrepareAbort
    appends_commit: Set[TransactionalId]  # PrepareCommit
    appended_epoch: Map[TransactionalId, ProducerEpoch]
    answering: Map[TransactionalId, Instance | Nothing]  # whose InitProducerId waits for it
    is_loaded: Set[TransactionalId]  # the present coordinator has read its decision from the log

    def write(s, x: TransactionalId, newer: ProducerEpoch, answering: Instance | Nothing) -> None:
        """Appends a record with the epoch `newer` to the log of `x`. When the record is committed,
        the instance `answering` receives the epoch, unless `answering` is nothing.
        """
        when(~s.is_appending[x])
        s.is_appending[x] = True
        s.appended_epoch[x] = newer
        s.answering[x] = answering

    def forget_append(s, x: TransactionalId) -> None:
        s.is_appending[x] = False
        s.appends_end[x] = False
        s.appends_commit[x] = False
        s.appended_epoch[x] = ProducerEpoch.least()
        s.answering[x] = nothing

    # ---- requests that append

    @action
    def init_transactions(s, i: Instance, x: TransactionalId, newer: ProducerEpoch) -> None:
        """An instance requests a larger epoch, and the coordinator appends this epoch to its log.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: as in the version `with-late-requests`.

        Without the guard that no transaction is open, the lemma `an_append_follows_the_log` breaks
        in 7 steps.
        """
        when(~s.has_transaction(x), s.may_raise(x, newer))
        s.write(x, newer, i)

    @action
    def lose_init_response(s, x: TransactionalId, newer: ProducerEpoch) -> None:
        """The coordinator appends a larger epoch to its log, but no instance receives the response.

        Kafka: TransactionCoordinator.handleInitProducerId.

        Without the guard that no transaction is open, the lemma `an_append_follows_the_log` breaks
        in 7 steps.
        """
        s.check_aborts()
        when(~s.has_transaction(x), s.may_raise(x, newer))
        s.write(x, newer, nothing)

    @action
    def add_to_transaction(s, x: TransactionalId) -> None:
        """The coordinator opens a transaction, unless a record of the transactional id is not
        committed yet.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction.
        Simplified: as in the version `with-late-requests`.

        Without the guard that no record is being appended, the lemma `an_append_follows_the_log`
        breaks in 7 steps.
        """
        when(~s.is_appending[x])
        super().add_to_transaction(x)

    def decide(s, x: TransactionalId, commits: Bool, newer: ProducerEpoch) -> None:
        """Appends PrepareCommit (if `commits` is true) or PrepareAbort to the log of `x`, with the
        epoch `newer`.
        """
        s.write(x, newer, nothing)
        s.appends_end[x] = True
        s.appends_commit[x] = commits

    # ---- the log

    @action
    def commit_end(s, x: TransactionalId) -> None:
        """The record PrepareCommit or PrepareAbort is committed.

        Kafka: TransactionStateManager.appendTransactionToLog and its callback.
        """
        when(s.is_appending[x], s.appends_end[x])
        s.take_effect(x, s.appends_commit[x], s.appended_epoch[x])
        s.forget_append(x)

    @action
    def commit_init(s, x: TransactionalId) -> None:
        """The record with a new epoch is committed, and the instance that waits receives the epoch.

        Kafka: TransactionStateManager.appendTransactionToLog and its callback.

        Without the guard that a record is being appended, the claim `position_is_exact` breaks in
        16 steps.
        """
        when(s.is_appending[x], ~s.appends_end[x])
        s.newest_epoch[x] = s.appended_epoch[x]
        for i in Instance:
            asks = s.answering[x] == i
            s.uses[i] = ite(asks, x, s.uses[i])
            s.held_epoch[i] = ite(asks, s.appended_epoch[x], s.held_epoch[i])
            for p in TopicPartition:
                s.reads[i][p] = s.reads[i][p] & ~asks
                s.position[i][p] = ite(asks, Offset.least(), s.position[i][p])
        s.forget_append(x)

    def load(s, x: TransactionalId) -> None:
        """The next coordinator reads the committed records of `x`, and continues with the markers
        if the newest record is PrepareCommit or PrepareAbort.

        Without this rule, the claim `position_is_exact` breaks (bug `forgets-prepared`, 14 steps).
        """
        s.is_loaded[x] = s.is_decided(x)

    @action
    def fail_over(s) -> None:
        """A new coordinator reads the log. A record that is not committed is lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: the new coordinator loads the log in one step.
        """
        for x in TransactionalId:
            s.forget_append(x)
            s.load(x)

    @action
    def complete(s, x: TransactionalId) -> None:
        """The coordinator completes a transaction, as in the version `with-late-requests`.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.

        Without the guard that all markers are written, the claim `position_is_exact` breaks in 14
        steps.
        """
        super().complete(x)
        s.is_loaded[x] = False


@version(
    "with-failover",
    in_force=kafka("4.2", LATEST, needs="transaction.version=2"),
)
class WithFailover(FailoverActions):
    """The version `with-late-requests`, in which the transaction coordinator may fail at any time,
    also between PrepareCommit and the markers.
    """

    @invariant
    def a_decision_survives(s) -> Bool:
        """A commit or abort in the coordinator's log is never changed, even if another coordinator
        takes over.
        """
        return forall(
            all_of(
                ~(s.committed_at[x][e] & s.aborted_at[x][e]),
                implies(
                    s.is_awaited(x, e),
                    implies(s.committed[x], s.committed_at[x][e])
                    & implies(s.aborted[x], s.aborted_at[x][e]),
                ),
            )
            for x in TransactionalId
            for e in ProducerEpoch
        )

    @lemma
    def an_append_follows_the_log(s) -> Bool:
        """A record of the coordinator's log that is not committed yet raises the producer epoch.

        While a PrepareCommit or PrepareAbort record is not committed yet, the transaction is still
        ongoing. For PrepareCommit, the client has requested the commit. While any other record is
        not committed yet, the transactional id has no incomplete transaction.
        """
        return forall(
            all_of(
                implies(s.appends_end[x], s.is_appending[x]),
                implies(s.is_appending[x], s.newest_epoch[x] < s.appended_epoch[x]),
                implies(s.is_appending[x] & ~s.appends_end[x], ~s.has_transaction(x)),
                implies(s.appends_end[x], s.ongoing[x] & (s.answering[x] == nothing)),
                implies(
                    s.appends_end[x] & s.appends_commit[x],
                    s.commit_requested[x][s.newest_epoch[x]],
                ),
            )
            for x in TransactionalId
        )

    @witness
    def a_successor_completes_a_commit(s) -> Bool:
        """Reachable: the output has the COMMIT marker of a failed coordinator, and the next
        coordinator must still send this marker to the group coordinator.
        """
        return exists(
            all_of(s.is_loaded[x], s.committed[x], s.output_marked[x], s.pending[x][p])
            for x in TransactionalId
            for p in TopicPartition
        )
