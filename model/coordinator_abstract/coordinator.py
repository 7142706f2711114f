"""The actions of the coordinator. The coordinator's log has each commit or abort before any client
learns of the commit or abort.

The coordinator appends a record to its log, and acts on the record when the record is committed.
Until the record is committed, the coordinator begins no other append for the same transactional id.
If the coordinator fails, the uncommitted append is lost. The next coordinator resumes each
transaction that is prepared in the log.

A commit or abort raises the producer epoch, and its markers carry the raised epoch. If the raised
epoch is the largest possible epoch, the transactional id gets another producer id.

Source: KIP-98; KIP-890 part 2; TransactionCoordinator and TransactionMetadata of Apache Kafka 4.3.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    AbstractCoordinatorState,
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.language import (
    Bool,
    Map,
    Nothing,
    action,
    false,
    forall,
    ite,
    nothing,
    true,
    when,
)


class Coordinator(AbstractCoordinatorState):
    # ---- the log

    def write(s, i: TransactionalId, m: Metadata, answering: Instance | Nothing) -> None:
        """Appends the record `m` to the log of the transactional id `i`. The guard is that the
        previous record is committed.

        When the record is committed, the instance `answering` receives the record's producer id and
        epoch. If `answering` is nothing, no instance receives a response.
        """
        when(~s.is_appending[i])
        s.is_appending[i] = True
        s.appended[i] = m
        s.answering[i] = answering

    def take_effect(s, i: TransactionalId, m: Metadata, answering: Instance | Nothing) -> None:
        """Makes the record `m` the last committed record of `i`. If `m` is ongoing, its partitions
        count as added to its transaction. If `m` prepares a commit or abort, its transaction counts
        as committed or aborted.

        The instance `answering` receives the producer id and epoch of `m`. If `answering` is
        nothing, no instance receives a response.
        """
        x = m.transaction
        s.log[i] = m
        s.committed[x] = s.committed[x] | m.is_prepared & m.commits
        s.aborted[x] = s.aborted[x] | m.is_prepared & ~m.commits
        s.marker_epoch[x] = ite(m.is_prepared, m.marker_epoch, s.marker_epoch[x])
        for t in TopicPartition:
            s.added[x][t] = s.added[x][t] | m.is_ongoing & m.partitions[t]
        for c in Instance:
            asks = answering == c
            s.is_ready[c] = s.is_ready[c] | asks
            s.held[c].transactional_id = ite(asks, i, s.held[c].transactional_id)
            s.held[c].producer_id = ite(asks, m.producer_id, s.held[c].producer_id)
            s.held[c].producer_epoch = ite(asks, m.producer_epoch, s.held[c].producer_epoch)

    @action
    def commit_append(s, i: TransactionalId) -> None:
        """The record that the coordinator appended is committed.

        Kafka: TransactionStateManager.appendTransactionToLog and its callback.
        Simplified: a response to InitProducerId arrives immediately or never.
        Every claim also holds without the guard of this action.
        """
        when(s.is_appending[i])
        s.take_effect(i, s.appended[i], s.answering[i])
        s.is_appending[i] = False
        s.answering[i] = nothing

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log. Appends that are not committed are lost.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: the new coordinator loads the log in one step.
        If an append of the failed coordinator is committed later, the claim `a_decision_survives`
        breaks in 9 steps (bug `writes-after-failover`).
        Without the guard that the new coordinator's epoch is larger, the claim
        `markers_are_accepted` breaks in 10 steps.
        """
        when(s.coordinator_epoch < epoch)
        s.coordinator_epoch = epoch
        for i in TransactionalId:
            s.appended[i] = s.log[i]
            s.is_appending[i] = False
            s.answering[i] = nothing

    # ---- producer ids and epochs

    def empty(
        s, i: TransactionalId, producer_id: ProducerId, producer_epoch: ProducerEpoch, known: Bool
    ) -> Metadata:
        """Returns metadata of the transactional id `i` without an open transaction. If `known` is
        false, the metadata is a tombstone.
        """
        return Metadata(
            is_known=known,
            is_ongoing=false,
            is_prepared=false,
            is_complete=false,
            commits=false,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction=s.log[i].transaction,
            partitions=Map(TopicPartition, lambda t: false),
            last_id=producer_id,
            last_epoch=ProducerEpoch.least(),
            marker_epoch=ProducerEpoch.least(),
        )

    def fences(s, m: Metadata, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if `producer_epoch` is larger than the epoch of the log's record `m`, so
        that it fences earlier instances.

        Without this rule, the claim `one_instance_has_an_epoch` breaks (bug `fences-nobody`, 4
        steps).
        """
        return m.producer_epoch < producer_epoch

    def is_next(s, m: Metadata, producer_id: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if the coordinator may give the producer id and epoch to a new instance.

        The epoch must be larger than the epoch of `m`, and the producer id must be the same. If `m`
        is unknown, or if the epochs of its producer id have run out, the producer id must be new,
        and the epoch must be the least epoch.
        """
        return ite(
            ~m.is_known | s.is_exhausted(m.producer_epoch),
            (s.assigned[producer_id] == nothing) & (producer_epoch == ProducerEpoch.least()),
            (m.producer_id == producer_id) & s.fences(m, producer_epoch),
        )

    @action
    def init_producer(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        """An instance requests a larger epoch, or another producer id with the least epoch.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: an instance does not request an epoch while a transaction is ongoing. The
        coordinator must first abort the transaction.
        Without the guard that no transaction is ongoing, the claim `no_hanging_transaction` breaks
        in 8 steps.
        """
        m = s.log[i]
        when(
            ~m.is_ongoing,
            ~m.is_prepared,
            producer_epoch < s.last_epoch,
            s.is_next(m, producer_id, producer_epoch),
        )
        s.assigned[producer_id] = i
        s.write(i, s.empty(i, producer_id, producer_epoch, true), answering=c)

    def may_expire(s, m: Metadata) -> Bool:
        """Returns True if the transactional id of the record `m` has no open transaction.

        Without this rule, the claim `no_hanging_transaction` breaks (bug `expires-open`, 8 steps).
        """
        return ~m.is_ongoing & ~m.is_prepared

    @action
    def expire(s, i: TransactionalId) -> None:
        """A transactional id expires: the coordinator appends a tombstone.

        Kafka: TransactionStateManager.removeExpiredTransactionalIds.
        Simplified: a transactional id may expire at any time.
        Every claim also holds without the guard that the transactional id is known.
        """
        m = s.log[i]
        when(m.is_known, s.may_expire(m))
        s.write(i, s.empty(i, m.producer_id, ProducerEpoch.least(), false), answering=nothing)

    # ---- a transaction

    def named_by(s, m: Metadata, x: Transaction) -> Transaction:
        return ite(m.is_ongoing, m.transaction, x)

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator adds a partition to a transaction. The first partition opens the
        transaction.

        Kafka: TransactionCoordinator.handleAddPartitionsToTransaction.
        Simplified: each request adds one partition.
        Without the guard that the producer id and epoch are current, the claim
        `only_the_newest_epoch_writes` breaks in 8 steps.
        """
        m = s.metadata_of(x)
        when(s.begun[x], ~m.is_prepared, s.is_current(x))
        s.write(
            s.stamp[x].transactional_id,
            Metadata(
                is_known=true,
                is_ongoing=true,
                is_prepared=false,
                is_complete=false,
                commits=false,
                producer_id=m.producer_id,
                producer_epoch=m.producer_epoch,
                transaction=s.named_by(m, x),
                partitions=Map(TopicPartition, lambda u: m.partitions[u] | (u == t)),
                last_id=m.producer_id,
                last_epoch=ProducerEpoch.least(),
                marker_epoch=ProducerEpoch.least(),
            ),
            answering=nothing,
        )

    def raises_epoch(s, m: Metadata, marker_epoch: ProducerEpoch) -> Bool:
        """Returns True if `marker_epoch`, the epoch of the markers of a commit or abort, is larger
        than the producer's epoch in the record `m`.

        Without this rule, partitions accept late records, and the claim `no_hanging_transaction`
        breaks (bug `keeps-epoch`, 11 steps).
        """
        return m.producer_epoch < marker_epoch

    def needs_another_id(s, marker_epoch: ProducerEpoch) -> Bool:
        return marker_epoch == s.last_epoch

    def next_epoch(s, marker_epoch: ProducerEpoch, another: Bool) -> ProducerEpoch:
        """Returns the producer's epoch after a commit or abort. If `another` is true, the producer
        gets another producer id, and the result is the least epoch. Otherwise, the result is
        `marker_epoch`.

        If a producer id gets the least epoch twice, the claim `markers_are_accepted` breaks (bug
        `wraps-epochs`, 13 steps).
        """
        return ite(another, ProducerEpoch.least(), marker_epoch)

    def prepare(
        s,
        i: TransactionalId,
        decision: tuple[Transaction, Bool],
        marker_epoch: ProducerEpoch,
        next_id: ProducerId,
        another: Bool,
    ) -> None:
        """Appends a commit or abort to the log. The pair `decision` has the transaction, and a Bool
        that is true for a commit.

        The producer id after the append is `next_id`. If `another` is true, `next_id` must not be
        assigned to any transactional id yet. Otherwise it must be the present producer id.
        """
        m, (transaction, commits) = s.log[i], decision
        when(
            s.raises_epoch(m, marker_epoch),
            marker_epoch <= s.last_epoch,
            ite(another, s.assigned[next_id] == nothing, m.producer_id == next_id),
        )
        s.assigned[next_id] = i
        s.write(
            i,
            Metadata(
                is_known=true,
                is_ongoing=false,
                is_prepared=true,
                is_complete=false,
                commits=commits,
                producer_id=next_id,
                producer_epoch=s.next_epoch(marker_epoch, another),
                transaction=transaction,
                partitions=m.partitions,
                last_id=m.producer_id,
                last_epoch=m.producer_epoch,
                marker_epoch=marker_epoch,
            ),
            answering=nothing,
        )

    @action
    def prepare_commit(s, x: Transaction, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator decides to commit the ongoing transaction, because the client of the
        transaction requests the commit.

        Kafka: TransactionCoordinator.endTransaction.
        Simplified: the request carries only a producer id and an epoch, so it may belong to an
        earlier transaction.
        Without the guard that a transaction is ongoing, the claim `the_client_decides` breaks in 6
        steps.
        """
        m, another = s.metadata_of(x), s.needs_another_id(marker_epoch)
        when(s.commit_requested[x], s.is_current(x), m.is_ongoing)
        i, decision = s.stamp[x].transactional_id, (m.transaction, true)
        s.prepare(i, decision, marker_epoch, next_id, another)

    @action
    def prepare_abort(s, x: Transaction, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator decides to abort the ongoing transaction, because the client of the
        transaction requests the abort.

        A client may also abort a transaction without partitions.

        Kafka: TransactionCoordinator.endTransaction.
        Simplified: the request may belong to an earlier transaction.
        Without the guard that no transaction is prepared, the claim `no_hanging_transaction` breaks
        in 14 steps.
        """
        m, another = s.metadata_of(x), s.needs_another_id(marker_epoch)
        when(s.abort_requested[x], s.is_current(x), ~m.is_prepared)
        decision = (ite(m.is_ongoing, m.transaction, x), false)
        s.prepare(s.stamp[x].transactional_id, decision, marker_epoch, next_id, another)

    def may_fence(s, m: Metadata) -> Bool:
        """Returns True if the transaction of the record `m` is ongoing, so that the coordinator may
        abort this transaction.

        If the coordinator also aborts a transaction that is prepared to commit, the claim
        `a_decision_survives` breaks (bug `decides-again`, 10 steps).
        """
        return m.is_ongoing

    def fence_needs_another_id(s, marker_epoch: ProducerEpoch) -> Bool:
        """Returns True if the markers of a fence (an abort by the coordinator) have the largest
        possible epoch. The producer then gets another producer id.

        Without this rule, the claim `no_instance_has_the_last_epoch` breaks (bug `fence-keeps-id`,
        9 steps; KAFKA-20090).
        """
        return s.needs_another_id(marker_epoch)

    @action
    def fence(s, i: TransactionalId, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator aborts a transaction because of a timeout or a new instance.

        Kafka: TransactionCoordinator.handleInitProducerId and abortTimedOutTransactions.
        Simplified: the coordinator may abort an ongoing transaction at any time.
        Without the guard that the epoch is raised (`raises_epoch`), the claim
        `markers_are_accepted` breaks in 8 steps.
        """
        m, another = s.log[i], s.fence_needs_another_id(marker_epoch)
        when(s.may_fence(m))
        s.prepare(i, (m.transaction, false), marker_epoch, next_id, another)

    def may_complete(s, m: Metadata) -> Bool:
        """Returns True if every partition of the transaction has the transaction's marker.

        Without this rule, the claim `no_hanging_transaction` breaks (bug `skips-marker`, 10 steps;
        KAFKA-20734).
        """
        return forall(s.marked[m.transaction][t] for t in m.partitions)

    @action
    def complete(s, i: TransactionalId) -> None:
        """The coordinator completes a transaction after every partition of the transaction has the
        marker.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.
        Simplified: the coordinator sees the markers in the partitions' logs, even the markers of an
        earlier coordinator.
        Without the guard that the log's newest record is a prepared commit or abort, the claim
        `a_decision_survives` breaks in 14 steps.
        """
        m = s.log[i]
        when(m.is_prepared, s.may_complete(m))
        s.write(
            i,
            Metadata(
                is_known=true,
                is_ongoing=false,
                is_prepared=false,
                is_complete=true,
                commits=m.commits,
                producer_id=m.producer_id,
                producer_epoch=m.producer_epoch,
                transaction=m.transaction,
                partitions=Map(TopicPartition, lambda t: false),
                last_id=m.last_id,
                last_epoch=m.last_epoch,
                marker_epoch=m.marker_epoch,
            ),
            answering=nothing,
        )
