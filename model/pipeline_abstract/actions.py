"""The actions of the spec `pipeline-abstract`: the actions of a group, of instances, and of the
transaction coordinator.

An instance is one run of an application that consumes, processes and produces. It fetches the
committed offset of a partition, and processes inputs from this offset on. In one transaction, it
commits the output records of these inputs and its position in the partition. Two markers bring the
commit or abort to the output and to the group coordinator, in either order. The group may give the
partition to another instance before the old owner learns of it.

The table lists all actions (`Next` in TLA+). The first four are in the module `group`. Each row
begins with the part of the system that takes the actions. No action is fair, because only safety is
proved.

    group        rebalance, assign
    instances    learn_generation, fetch_offset, init_transactions, process, send_offset, commit
    coordinator  abort, write_output_marker, write_offset_marker, complete
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Nothing,
    action,
    false,
    forall,
    implies,
    ite,
    when,
)
from model.pipeline_abstract.group import GroupActions
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class PipelineActions(GroupActions):
    holder: Map[TransactionalId, Instance | Nothing]  # the instance with the newest producer epoch

    def is_newest(s, i: Instance, x: TransactionalId) -> Bool:
        """Returns True if `i` was the last instance that initialized the transactional id `x`.

        Without the comparison of epochs, the claim `each_input_at_most_once` breaks (bug
        `ignores-epoch`, 13 steps).
        """
        return s.holder[x] == i

    def may_hand_over(s, x: TransactionalId) -> Bool:
        """Returns True if the transactional id `x` has no transaction, or if its newest transaction
        is complete.
        """
        return ~s.is_decided(x) & ~s.has_content(x)

    def begin_with(s, i: Instance) -> None:
        """The instance `i`, which has initialized a transactional id, stops reading. It reads a
        partition again after it has fetched the committed offset.
        """
        s.stop_reading(i)

    @action
    def init_transactions(s, i: Instance, x: TransactionalId) -> None:
        """An instance initializes a transactional id. This fences all instances that initialized
        the id earlier.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: the spec stores the newest instance instead of producer epochs, and any instance
        may use any transactional id.
        Without the guard that no transaction of the id is open (`may_hand_over`), the claim
        `each_input_at_most_once` breaks (bug `inherits-transaction`, 10 steps).
        """
        when(s.may_hand_over(x))
        s.begin_with(i)
        s.holder[x] = i
        s.uses[i] = x

    # ---- consume, process, produce

    @action
    def process(s, i: Instance, x: TransactionalId, p: TopicPartition, after: Offset) -> None:
        """An instance reads the next input of a partition, and writes its output record in the open
        transaction.

        Kafka: KafkaConsumer.poll and KafkaProducer.send.
        Simplified: the read and the write are one step, and each input has one output record. The
        instance must not have sent its position in this partition as an offset of the open
        transaction. Without this guard, the claim `position_is_exact` breaks in 6 steps.
        """
        at = s.position[i][p]
        when(
            s.reads[i][p],
            after.is_next_after(at),
            s.may_use(i, x),
            ~s.is_decided(x),
            ~s.pending[x][p],
        )
        s.doubled[x][p][at] = s.doubled[x][p][at] | s.written[x][p][at]
        s.written[x][p][at] = True
        s.position[i][p] = after

    # ---- the end of a transaction

    def accepts_offset(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if the group coordinator accepts an offset of the partition `p` from the
        instance `i`. The instance's generation must be the newest generation (KIP-447).

        Without this check, the claim `each_input_at_most_once` breaks (bug `forgets-generation`, 16
        steps).
        """
        return s.is_current(i, p)

    @action
    def send_offset(s, i: Instance, x: TransactionalId, p: TopicPartition) -> None:
        """An instance sends its position in a partition as part of the transaction. The offset is
        pending until the marker arrives.

        Kafka: KafkaProducer.sendOffsetsToTransaction, OffsetMetadataManager.
        Simplified: each request has one partition.
        If the offset is committed immediately, outside of the transaction, the claim
        `position_is_exact` breaks (bug `commits-outside`, 5 steps).
        Every claim also holds without the guard that the transaction is neither committed nor
        aborted.
        """
        when(s.reads[i][p], s.may_use(i, x), ~s.is_decided(x), s.accepts_offset(i, p))
        s.pending[x][p] = True
        s.pending_offset[x][p] = s.position[i][p]

    def has_sent_offsets(s, x: TransactionalId) -> Bool:
        """Returns True if the transaction of `x` has an offset for each partition whose inputs it
        has processed.

        An application may commit only then. Without this rule, the claim `each_input_at_most_once`
        breaks (bug `commits-without-offsets`, 11 steps).
        """
        return forall(
            implies(s.written[x][p][o], s.pending[x][p]) for p in TopicPartition for o in Offset
        )

    @action
    def commit(s, i: Instance, x: TransactionalId) -> None:
        """The coordinator decides to commit a transaction, because the instance of the transaction
        requests the commit.

        Kafka: KafkaProducer.commitTransaction, TransactionCoordinator.handleEndTransaction.
        Simplified: the commit is one step. The transaction coordinator does not consult the group
        coordinator again, so the commit succeeds even after a rebalance.
        Without the guard that the transaction is open, the claim `position_is_exact` breaks in 8
        steps.
        """
        when(s.is_open(x), s.may_use(i, x), s.has_sent_offsets(x))
        s.committed[x] = True

    def reads_on(s, i: Instance) -> Bool:
        """Returns False always: after an abort, the instance `i` does not read on, but starts again
        at the committed offsets.

        Without this rule, the claim `position_is_exact` breaks (bug `reads-on-after-abort`, 10
        steps).
        """
        return false

    @action
    def abort(s, x: TransactionalId) -> None:
        """The coordinator aborts a transaction. The instance of the transaction must then read the
        inputs again.

        Kafka: TransactionCoordinator.handleEndTransaction, handleInitProducerId and
        abortTimedOutTransactions.
        Simplified: this action stands for an abort request, a timeout or a new instance, and may
        happen at any time.
        Every claim also holds without the guard of this action.
        """
        when(s.is_open(x))
        s.aborted[x] = True
        for i in Instance:
            stops = s.may_use(i, x) & ~s.reads_on(i)
            for p in TopicPartition:
                s.reads[i][p] = s.reads[i][p] & ~stops
                s.position[i][p] = ite(stops, Offset.least(), s.position[i][p])

    # ---- markers

    def delivers(s, x: TransactionalId) -> Bool:
        """Returns True if a reader at read_committed receives the records of the transaction `x`.
        The spec `read-committed-abstract` proves this rule.

        If the reader also receives other records, the claim `each_input_at_most_once` breaks (bug
        `reads-uncommitted`, 11 steps).
        """
        return s.committed[x]

    @action
    def write_output_marker(s, x: TransactionalId) -> None:
        """The output partition writes the marker of a transaction. If the transaction is committed,
        a reader receives its output records.

        Kafka: WriteTxnMarkers to the output partitions.
        Simplified: the reader receives all output records in one step.
        Without the guard that the transaction is committed or aborted, the claim
        `position_is_exact` breaks in 7 steps.
        """
        when(s.is_decided(x), ~s.output_marked[x])
        s.output_marked[x] = True
        s.deliver(x, s.delivers(x))

    def counts(s, x: TransactionalId) -> Bool:
        """Returns True if the marker of `x` is a COMMIT, so that it commits the pending offsets.

        Without this rule, the claim `position_is_exact` breaks (bug `counts-aborted`, 7 steps).
        """
        return s.committed[x]

    @action
    def write_offset_marker(s, x: TransactionalId) -> None:
        """The group coordinator receives the marker of a transaction, and commits or drops the
        pending offsets.

        Kafka: WriteTxnMarkers to `__consumer_offsets`.
        Simplified: a pending offset replaces the committed offset. Kafka first checks that no later
        offset is committed; in this spec, no later offset can be committed.
        Without the guard that the transaction is committed or aborted, the claim
        `position_is_exact` breaks in 9 steps.
        """
        when(s.is_decided(x), ~s.offsets_marked[x])
        s.offsets_marked[x] = True
        s.settle_offsets(x, s.counts(x))

    def may_complete(s, x: TransactionalId) -> Bool:
        """Returns True if the output partition and the group coordinator have the marker of `x`.

        Kafka 4.3.0 does not wait for a partition without a leader (KAFKA-20734). So the claim
        `each_input_at_most_once` breaks (bug `skips-marker`, 16 steps).
        """
        return s.output_marked[x] & s.offsets_marked[x]

    @action
    def complete(s, x: TransactionalId) -> None:
        """The coordinator completes a transaction. The next transaction of the same transactional
        id may then begin.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion.
        Simplified: the coordinator sees the markers in the output and at the group coordinator.
        Without the guard that the markers of the output and of the offsets are written, the claim
        `position_is_exact` breaks in 8 steps.
        """
        when(s.is_decided(x), s.may_complete(x))
        s.forget_decision(x)
