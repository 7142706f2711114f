"""The actions of an abstract pipeline: a group, instances, and the transaction coordinator.

An instance fetches the committed offset of a partition and processes inputs from this offset on. It
writes their output records in its transaction, sends its position in the same transaction, and
commits. Two markers, in either order, bring the commit or abort to the output and to the group
coordinator. The group may give the partition to another instance before the old owner learns of it.

The table lists all actions (`Next` in TLA+). No action is fair, because only safety is proved.

    group        rebalance, assign
    instances    learn_generation, init_transactions, fetch_offset, process, send_offset, commit
    coordinator  abort, write_output_marker, write_offset_marker, complete
"""

from __future__ import annotations

from model.language import Bool, action, all_of, false, forall, implies, ite, nothing, when
from model.pipeline_abstract.state import (
    Generation,
    Instance,
    Offset,
    PipelineState,
    TopicPartition,
    TransactionalId,
)


class PipelineActions(PipelineState):
    """The actions of an abstract pipeline, by the rules of KIP-447."""

    # ---- the group

    @action
    def rebalance(s, newer: Generation) -> None:
        """The group begins a new generation, in which no partition has an owner yet.

        Kafka: GroupMetadataManager.completeClassicGroupJoin. Simplified: a rebalance may happen at
        any time. Without the guard that the generation is new, the claim `each_input_at_most_once`
        breaks in 17 steps.
        """
        when(s.generation < newer)
        s.generation = newer

    @action
    def assign(s, p: TopicPartition, owner: Instance) -> None:
        """The group gives a partition to an instance, for the present generation.

        Kafka: GroupMetadataManager.classicGroupSync. Simplified: one partition after another, and
        any instance may be in the group. Without the guard that the partition has no owner in this
        generation, the claim `each_input_at_most_once` breaks in 14 steps.
        """
        when(s.owner[s.generation][p] == nothing)
        s.owner[s.generation][p] = owner

    # ---- an instance joins the group, and initializes a transactional id

    def stop_reading(s, i: Instance) -> None:
        for p in TopicPartition:
            s.reads[i][p] = False
            s.position[i][p] = Offset.least()

    def may_learn(s, i: Instance) -> Bool:
        """True if the instance has no open transaction, so that it may learn the present
        generation.

        Before an application gives up its partitions, it commits or aborts its transaction. In the
        variant `learns-in-transaction`, an instance may learn the generation during a transaction.
        Then the claim `each_input_at_most_once` breaks in 12 steps.
        """
        return forall(implies(s.may_use(i, x), ~s.is_open(x)) for x in TransactionalId)

    @action
    def learn_generation(s, i: Instance) -> None:
        """An instance learns the present generation, and stops reading.

        Kafka: ConsumerCoordinator.onJoinPrepare and onJoinComplete. Simplified: both are one step.
        Every claim also holds without the guard that the generation is new.
        """
        when(s.known_generation[i] < s.generation, s.may_learn(i))
        s.known_generation[i] = s.generation
        s.stop_reading(i)

    def may_use(s, i: Instance, x: TransactionalId) -> Bool:
        """True if the instance's requests with this transactional id are accepted."""
        return all_of(s.uses[i] == x, s.is_newest(i, x))

    def is_newest(s, i: Instance, x: TransactionalId) -> Bool:
        """True if no instance has initialized `x` after `i`, so `i` has the newest epoch.

        The variant `ignores-epoch` does not compare epochs, and breaks the claim
        `each_input_at_most_once` in 13 steps.
        """
        return s.holder[x] == i

    def may_hand_over(s, x: TransactionalId) -> Bool:
        """True if another instance may take over the transactional id: the id has no transaction,
        or its newest transaction is complete.

        If a transaction is open, the coordinator aborts it first. In the variant
        `inherits-transaction`, the new instance inherits the open transaction, which breaks the
        claim `each_input_at_most_once` in 10 steps.
        """
        return ~s.is_decided(x) & ~s.has_content(x)

    def begin_with(s, i: Instance) -> None:
        """Stops the reads of an instance that initializes a transactional id.

        Later, the instance starts to read again at the committed offsets.
        """
        s.stop_reading(i)

    @action
    def init_transactions(s, i: Instance, x: TransactionalId) -> None:
        """An instance initializes a transactional id, which fences the id's earlier instances.

        Kafka: TransactionCoordinator.handleInitProducerId. Simplified: the spec stores the newest
        instance instead of producer epochs; any instance may use any id. The only guard
        is `may_hand_over`: the variant `inherits-transaction` lacks this guard, and breaks the
        claim `each_input_at_most_once` in 10 steps.
        """
        when(s.may_hand_over(x))
        s.begin_with(i)
        s.holder[x] = i
        s.uses[i] = x

    # ---- consume, process, produce

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        """True if no offset of the partition is pending.

        While an offset is pending, the coordinator answers OffsetFetch (with requireStable) by
        UNSTABLE_OFFSET_COMMIT, and the instance tries again. The variant `returns-unstable` answers
        with the committed offset, and breaks the claim `each_input_at_most_once` in 13 steps.
        """
        return forall(~s.pending[x][p] for x in TransactionalId)

    @action
    def fetch_offset(s, i: Instance, p: TopicPartition) -> None:
        """An instance starts to read a partition of its assignment at the committed offset.

        Kafka: OffsetFetch, ConsumerCoordinator.initWithCommittedOffsetsIfNeeded. Simplified:
        without a committed offset, the instance starts at the least offset. The instance may have
        an old assignment. Without the guard that the instance does not read the partition yet, the
        claim `each_input_at_most_once` breaks in 9 steps.
        """
        when(s.owner[s.known_generation[i]][p] == i, ~s.reads[i][p], s.may_fetch(i, p))
        s.reads[i][p] = True
        s.position[i][p] = s.committed_offset[p]

    @action
    def process(s, i: Instance, x: TransactionalId, p: TopicPartition, after: Offset) -> None:
        """An instance reads the next input, and writes its output record in the open transaction.

        Kafka: KafkaConsumer.poll and KafkaProducer.send. Simplified: both are one step, and each
        input has one output record. After an instance has sent its position in a partition, it
        reads no further input of this partition in the same transaction. Without this guard, the
        claim `position_is_exact` breaks in 6 steps.
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

    def is_current(s, i: Instance, p: TopicPartition) -> Bool:
        """True if the instance may commit offsets of the partition: its generation is the newest.

        The version `id-per-partition` compares no generations. There, the instance must be the
        newest that initialized the transactional id of the partition.
        """
        return s.known_generation[i] == s.generation

    def accepts_offset(s, i: Instance, p: TopicPartition) -> Bool:
        """True if the group coordinator accepts an offset from the instance: the instance must have
        the newest generation (KIP-447).

        Without this check, the variant `forgets-generation` breaks the claim
        `each_input_at_most_once` in 16 steps.
        """
        return s.is_current(i, p)

    @action
    def send_offset(s, i: Instance, x: TransactionalId, p: TopicPartition) -> None:
        """An instance sends its position in the transaction, and the offset is pending.

        Kafka: KafkaProducer.sendOffsetsToTransaction, OffsetMetadataManager. Simplified: a request
        has one partition. An offset outside of the transaction is committed at once. So the variant
        `commits-outside` breaks the claim `position_is_exact` in 5 steps. Every claim also holds
        without the guard that the transaction is neither committed nor aborted.
        """
        when(s.reads[i][p], s.may_use(i, x), ~s.is_decided(x), s.accepts_offset(i, p))
        s.pending[x][p] = True
        s.pending_offset[x][p] = s.position[i][p]

    def has_sent_offsets(s, x: TransactionalId) -> Bool:
        """True if the transaction has an offset for each partition whose inputs it has processed.

        An application must send its positions before it commits. Without this rule, the variant
        `commits-without-offsets` breaks the claim `each_input_at_most_once` in 11 steps.
        """
        return forall(
            implies(s.written[x][p][o], s.pending[x][p]) for p in TopicPartition for o in Offset
        )

    @action
    def commit(s, i: Instance, x: TransactionalId) -> None:
        """At the request of an instance, the coordinator decides to commit the instance's
        transaction.

        Kafka: KafkaProducer.commitTransaction, TransactionCoordinator.handleEndTransaction.
        Simplified: the commit is one step. The coordinator sends no second request to the group
        coordinator. So the commit succeeds even if a rebalance has happened since the group
        coordinator accepted the offsets. Without the guard that the transaction is open, the claim
        `position_is_exact` breaks in 8 steps.
        """
        when(s.is_open(x), s.may_use(i, x), s.has_sent_offsets(x))
        s.committed[x] = True

    def reads_on(s, i: Instance) -> Bool:
        """True if an instance keeps its position after an abort, which it never does.

        The instance reads again from the committed offsets. In the variant `reads-on-after-abort`,
        the instance keeps its position, which breaks the claim `position_is_exact` in 10 steps.
        """
        return false

    @action
    def abort(s, x: TransactionalId) -> None:
        """The coordinator aborts a transaction, so its instance must read the inputs again.

        Kafka: TransactionCoordinator.handleEndTransaction, handleInitProducerId and
        abortTimedOutTransactions. Simplified: this action covers a request, a timeout and a new
        instance; it may happen at any time. Every claim also holds without the guard of this
        action.
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
        """True if a reader of the output receives the transaction's records: the transaction is
        committed.

        The spec `read-committed-abstract` proves that a reader at read_committed receives only such
        records. If the reader also receives other records, the variant `reads-uncommitted` breaks
        the claim `each_input_at_most_once` in 11 steps.
        """
        return s.committed[x]

    @action
    def write_output_marker(s, x: TransactionalId) -> None:
        """The output gets the marker, and a reader receives the output records of a committed
        transaction.

        Kafka: WriteTxnMarkers to the output partitions. Simplified: the reader receives all output
        records in one step. Without the guard that the transaction is committed or aborted, the
        claim `position_is_exact` breaks in 7 steps.
        """
        when(s.is_decided(x), ~s.output_marked[x])
        s.output_marked[x] = True
        for p in TopicPartition:
            for o in Offset:
                delivered = s.written[x][p][o] & s.delivers(x)
                is_second = s.received[p][o] | s.doubled[x][p][o]
                s.repeated[p][o] = s.repeated[p][o] | delivered & is_second
                s.received[p][o] = s.received[p][o] | delivered
                s.written[x][p][o] = False
                s.doubled[x][p][o] = False

    def counts(s, x: TransactionalId) -> Bool:
        """True if the marker commits the pending offsets: the marker is a COMMIT.

        Without this rule, the variant `counts-aborted` breaks the claim `position_is_exact` in 7
        steps.
        """
        return s.committed[x]

    @action
    def write_offset_marker(s, x: TransactionalId) -> None:
        """The group coordinator gets the marker, and commits or drops the pending offsets.

        Kafka: WriteTxnMarkers to `__consumer_offsets`. Simplified: a pending offset replaces the
        committed offset. Kafka first checks that no later offset is committed; in this spec, there
        is no later offset. Without the guard that the transaction is committed or aborted, the
        claim `position_is_exact` breaks in 9 steps.
        """
        when(s.is_decided(x), ~s.offsets_marked[x])
        s.offsets_marked[x] = True
        for p in TopicPartition:
            s.committed_offset[p] = ite(
                s.pending[x][p] & s.counts(x), s.pending_offset[x][p], s.committed_offset[p]
            )
            s.pending[x][p] = False
            s.pending_offset[x][p] = Offset.least()

    def may_complete(s, x: TransactionalId) -> Bool:
        """True if the marker is in the output partition and at the group coordinator.

        Kafka 4.3.0 does not wait for a partition without a leader (KAFKA-20734): the variant
        `skips-marker` breaks the claim `each_input_at_most_once` in 16 steps.
        """
        return s.output_marked[x] & s.offsets_marked[x]

    @action
    def complete(s, x: TransactionalId) -> None:
        """The coordinator completes a transaction, and the next transaction of its id may begin.

        Kafka: TransactionMarkerChannelManager.maybeWriteTxnCompletion. Simplified: the coordinator
        sees the markers. Without the guard that the markers of the output and of the offsets are
        written, the claim `position_is_exact` breaks in 8 steps.
        """
        when(s.is_decided(x), s.may_complete(x))
        s.committed[x] = False
        s.aborted[x] = False
        s.output_marked[x] = False
        s.offsets_marked[x] = False
