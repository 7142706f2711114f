"""The version `kip-890-part-1` of the spec `coordinator-abstract`: transaction version 1, in which
partition leaders verify transactions (KIP-890 part 1).

In transaction version 1, a commit or abort does not change the producer epoch. So all transactions
of an instance have one *stamp*: the same transactional id, producer id and producer epoch. A
partition cannot distinguish a late record from a record of the next transaction.

So before a record opens a transaction in a partition, the leader *verifies* the record. The leader
creates a VerificationGuard, and asks the coordinator whether the ongoing transaction of this stamp
has the partition. The leader appends the record only if the coordinator confirms this, and the
VerificationGuard still exists. Each append and each marker of the producer id removes the
VerificationGuard.

So every transaction with records in a partition gets a marker there. But a late record may join the
next transaction of the same stamp, and a late request or marker may end the next transaction. The
variable `late` has the partitions where a record of a transaction arrived when the transaction was
not open. The variable `disordered` becomes true when a late request takes effect, or when a late
marker commits or aborts records. The claims about single transactions leave out the partitions in
`late`, and hold only until `disordered` is true.

This version of the spec has the actions of the version `kip-1228`, and the three actions in this
table. No action is fair.

    partitions   start_verification, change_leader
    coordinator  confirm

Source: KIP-890 part 1; UnifiedLog.analyzeAndValidateProducerState and
ProducerStateManager.maybeCreateVerificationStateEntry of Apache Kafka 3.9.
Simplified: a client may send a record to a partition that the transaction does not have. A client
without added partitions does not request the end of its transaction, as in Kafka. A *fence* raises
the epoch and aborts the ongoing transaction. If the append of a fence's record fails, and the
coordinator itself does not fail, Kafka retains the raised epoch (KAFKA-9666); in the spec, no such
append fails. A coordinator that was replaced confirms nothing (`confirm`).
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    true,
    when,
)


class VerificationActions(AbstractCoordinator):
    adds_late: bool = True  # a late request to add a partition opens its transaction again

    guarded: Map[Transaction, Set[TopicPartition]]  # the leader has a VerificationGuard for it
    vouched: Map[Transaction, Set[TopicPartition]]  # the coordinator has confirmed it
    late: Map[Transaction, Set[TopicPartition]]  # it has a record there that arrived late
    disordered: Bool  # a late request took effect, or a late marker ended records

    # ---- what is late

    def is_late_record(s, x: Transaction, t: TopicPartition) -> Bool:
        """Returns True if, in the coordinator's log, the transaction `x` is not open with the
        partition `t`. A record of `x` that arrives at `t` is then late.

        If no record counts as late, the claim `faithful` breaks (bug `believes-late-records`, 15
        steps).
        """
        return ~s.is_open_in_the_log(x, t)

    def is_late_request(s, x: Transaction) -> Bool:
        """Returns True if the transaction `x` is already committed or aborted. A request of the
        client of `x` is then late.

        If no request counts as late, the claim `the_client_decides` breaks (bug
        `believes-late-requests`, 17 steps; KAFKA-17754).
        """
        return s.decided(x)

    def is_awaited(s, x: Transaction) -> Bool:
        m = s.metadata_of(x)
        return m.is_prepared & (m.transaction == x)

    # ---- the coordinator's log

    def take_effect(s, i: TransactionalId, m: Metadata, answering: Instance | Nothing) -> None:
        """Makes the record `m` the last committed record of `i`, as in the version `kip-1228`.

        If the transaction of `m` is ongoing, its markers no longer count as written. Such markers
        exist if a late request opens a committed or aborted transaction again.
        """
        super().take_effect(i, m, answering)
        for t in TopicPartition:
            s.marked[m.transaction][t] = s.marked[m.transaction][t] & ~m.is_ongoing

    def named_by(s, m: Metadata, x: Transaction) -> Transaction:
        """Returns `x`, the transaction that is ongoing in the log after the coordinator has added a
        partition for the client of `x`.

        This is so even if another transaction was ongoing before. The coordinator cannot
        distinguish `x` from another transaction with the same producer id and epoch.
        """
        return x

    # ---- epochs

    def raises_epoch(s, m: Metadata, marker_epoch: ProducerEpoch) -> Bool:
        """Returns True if `marker_epoch`, the epoch of the markers of a commit or abort, is at
        least the producer's epoch in the record `m`.

        A fence (an abort by the coordinator) raises the epoch. Other commits and aborts keep it.
        """
        return m.producer_epoch <= marker_epoch

    def needs_another_id(s, marker_epoch: ProducerEpoch) -> Bool:
        """Returns False always, because in transaction version 1 only InitProducerId changes the
        producer id.
        """
        return false

    @action
    def add_partition(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator adds a partition to a transaction, because the client of the transaction
        requests this.

        Kafka: as in the version `kip-1228`, with the same guards.
        Simplified: a late request opens its transaction again. If the constant `adds_late` is
        false, no late request adds a partition.
        """
        when(true if s.adds_late else ~s.decided(x))
        s.disordered = s.disordered | s.is_late_request(x)
        super().add_partition(x, t)

    @action
    def prepare_commit(s, x: Transaction, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator decides to commit the ongoing transaction. The producer epoch does not
        change.

        This action adds one guard to the action `prepare_commit` of the spec's version `kip-1228`:
        the markers must have the transaction's present epoch. The source in Kafka and the
        simplifications are the same.
        """
        when(marker_epoch == s.metadata_of(x).producer_epoch)
        s.disordered = s.disordered | s.is_late_request(x)
        super().prepare_commit(x, marker_epoch, next_id)

    @action
    def prepare_abort(s, x: Transaction, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator decides to abort the ongoing transaction. The producer epoch does not
        change.

        This action adds two guards to the action `prepare_abort` of the spec's version `kip-1228`:
        the epoch does not change, and a transaction is ongoing. A transaction without partitions is
        not ongoing, so a client cannot abort it. The source in Kafka and the simplifications are
        the same.
        """
        m = s.metadata_of(x)
        when(m.is_ongoing, marker_epoch == m.producer_epoch)
        s.disordered = s.disordered | s.is_late_request(x)
        super().prepare_abort(x, marker_epoch, next_id)

    @action
    def fence(s, i: TransactionalId, marker_epoch: ProducerEpoch, next_id: ProducerId) -> None:
        """The coordinator raises the epoch and aborts the ongoing transaction, because of a timeout
        or a new instance.

        Kafka: TransactionMetadata.prepareFenceProducerEpoch.
        Simplified: the coordinator may do this at any time.

        Without the guard that the transaction is ongoing, the claim `a_decision_survives` breaks in
        10 steps.
        """
        when(s.log[i].producer_epoch < marker_epoch)
        super().fence(i, marker_epoch, next_id)

    # ---- clients

    def may_begin(s, i: Instance) -> Bool:
        """Returns True if the instance `i` has the response to EndTxn for each transaction that it
        began with its producer id and epoch.

        Simplified: after a transaction without partitions, the instance begins no other
        transaction. In Kafka, the instance may begin another transaction, and then a late request
        to add a partition breaks the claim `faithful`.
        """
        return forall(
            implies(
                all_of(s.begun[x], s.client[x] == i, s.stamp[x] == s.held[i]),
                s.confirmed[x],
            )
            for x in Transaction
        )

    def has_partitions(s, x: Transaction) -> Bool:
        return exists(s.added[x][t] for t in TopicPartition)

    @action
    def request_commit(s, x: Transaction) -> None:
        """A client sends EndTxn to commit its transaction, if a partition was added to the
        transaction.

        Kafka: as in the version `kip-1228`, with the same simplifications.

        Without the guard that a partition was added, the claim `an_acknowledged_commit_stays`
        breaks in 12 steps.
        """
        when(s.has_partitions(x))
        super().request_commit(x)

    @action
    def request_abort(s, x: Transaction) -> None:
        """A client sends EndTxn to abort its transaction, if a partition was added to the
        transaction.

        Kafka: as in the version `kip-1228`, with the same simplifications.

        Without the guard that a partition was added, the lemma `requests_are_of_begun_transactions`
        breaks in 4 steps.
        """
        when(s.has_partitions(x))
        super().request_abort(x)

    @action
    def receive_end(s, x: Transaction) -> None:
        """A client learns that its transaction was committed or aborted, as the client requested.

        Kafka: EndTxnResponse before version 5, which has no epoch; a fenced client gets an error.
        Simplified: as in the version `kip-1228`.
        Without the guard that the producer id and epoch are current, the claim
        `no_instance_has_the_last_epoch` breaks in 9 steps.
        """
        when(s.is_current(x))
        super().receive_end(x)

    # ---- verification

    def is_ongoing(s, t: TopicPartition, p: ProducerId) -> Bool:
        """Returns True if the partition `t` has pending records of the producer id `p`. Further
        records of this producer id then need no verification.

        Kafka: UnifiedLog.hasOngoingTransaction. Before Kafka 4.0, this method does not compare the
        epoch.
        """
        return exists(s.pending[y][t] & (s.stamp[y].producer_id == p) for y in Transaction)

    def is_verified(s, x: Transaction, t: TopicPartition) -> Bool:
        """Returns True if the coordinator has confirmed the transaction `x` to the leader of `t`,
        and the leader still has the VerificationGuard of this verification.

        If the leader does not compare VerificationGuards after the confirmation, the claim
        `no_hanging_transaction` breaks (bug `appends-without-guard`, 12 steps; KAFKA-14884).
        """
        return s.guarded[x][t] & s.vouched[x][t]

    @action
    def start_verification(s, x: Transaction, t: TopicPartition) -> None:
        """A leader creates a VerificationGuard for a record of the transaction, and sends a
        verification request to the coordinator.

        Kafka: UnifiedLog.maybeStartTransactionVerification.
        Simplified: in a partition, each transaction has a VerificationGuard of its own; Kafka has
        one VerificationGuard for each producer id.

        Without the guard that the transaction has begun, the lemma `a_verified_request_is_covered`
        breaks in 1 step.
        """
        when(s.begun[x], ~s.is_ongoing(t, s.stamp[x].producer_id))
        s.guarded[x][t] = True
        s.vouched[x][t] = False

    def vouches(s, x: Transaction, t: TopicPartition) -> Bool:
        """Returns True if the coordinator's log has an ongoing transaction with the partition `t`,
        and with the producer id and epoch of `x`.

        If the coordinator also confirms a prepared transaction, the claim `no_hanging_transaction`
        breaks (bug `vouches-for-prepared`, 12 steps).
        """
        m = s.metadata_of(x)
        return all_of(m.is_ongoing, s.is_current(x), m.partitions[t])

    @action
    def confirm(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator confirms to the leader that the ongoing transaction has the partition.

        The coordinator reads the last committed record of its log, even while an append is in
        flight (KAFKA-14904).

        Kafka: AddPartitionsToTxn with verifyOnly,
        TransactionCoordinator.handleVerifyPartitionsInTransaction.
        Simplified: the leader may read the response at any later time. A coordinator that was
        replaced confirms nothing.
        If such a coordinator confirms from its memory, as in Kafka, the claim
        `no_hanging_transaction` breaks in 13 steps (bug `confirms-after-failover`).
        Without the guard `vouches`, the claim `no_hanging_transaction` breaks in 6 steps.
        """
        when(s.guarded[x][t], s.vouches(x, t))
        s.vouched[x][t] = True

    def remove_guards(s, t: TopicPartition, p: ProducerId) -> None:
        for y in Transaction:
            keeps = s.stamp[y].producer_id != p
            s.guarded[y][t] = s.guarded[y][t] & keeps
            s.vouched[y][t] = s.vouched[y][t] & keeps

    def ends_verifications(s, t: TopicPartition, p: ProducerId) -> None:
        """Removes the VerificationGuards of the producer id `p` in the partition `t`, because the
        partition writes a marker of this producer id. Unfinished verifications then fail.

        Without this rule, the claim `no_hanging_transaction` breaks (bug `marker-keeps-guard`, 12
        steps).
        """
        s.remove_guards(t, p)

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A partition appends a record if the producer id has pending records in the partition, or
        if the leader has verified the record.

        Kafka: UnifiedLog.analyzeAndValidateProducerState.
        Simplified: a record may arrive at any time.
        Without the guard that the partition has seen no larger epoch, the claim
        `no_hanging_transaction` breaks in 12 steps.
        """
        p = s.stamp[x].producer_id
        when(
            s.begun[x],
            s.seen_epoch[t][p] <= s.stamp[x].producer_epoch,
            s.is_ongoing(t, p) | s.is_verified(x, t),
        )
        s.late[x][t] = s.late[x][t] | s.is_late_record(x, t)
        s.pending[x][t] = True
        s.seen_epoch[t][p] = s.stamp[x].producer_epoch
        s.remove_guards(t, p)

    @action
    def change_leader(s, t: TopicPartition) -> None:
        """Another replica becomes leader of the partition. The new leader has no
        VerificationGuards.

        Kafka: Partition.makeLeader. The old leader stored its VerificationGuards only in memory, in
        its ProducerStateManager.
        Simplified: the new leader has all records.
        """
        for x in Transaction:
            s.guarded[x][t] = False
            s.vouched[x][t] = False

    # ---- markers

    def accepts_marker(s, t: TopicPartition, p: ProducerId, marker_epoch: ProducerEpoch) -> Bool:
        return s.seen_epoch[t][p] <= marker_epoch

    @action
    def write_marker(s, x: Transaction, t: TopicPartition, epoch: CoordinatorEpoch) -> None:
        """A partition writes a marker, which commits or aborts all pending records of the producer
        id.

        Kafka: as in the version `kip-1228`, with the same simplifications and guards. A marker that
        the coordinator no longer waits for is late. A late marker does not count as written.
        """
        counts = s.marked[x][t] | s.is_awaited(x)
        ends_records = s.is_ongoing(t, s.stamp[x].producer_id)
        s.disordered = s.disordered | all_of(~s.is_awaited(x), ends_records)
        super().write_marker(x, t, epoch)
        s.marked[x][t] = counts
        s.ends_verifications(t, s.stamp[x].producer_id)
