"""The actions of committed offsets: the group rebalances, and consumers commit.

A new owner of a partition starts at the committed offset, and waits while a commit of the partition
is pending. The consumer commits its output and its offsets in one transaction, which may have
inputs of several partitions. The group may give a partition to another consumer before the old
owner learns of this, and it does not fence the producer of the old owner. So each commit carries
the generation in which the consumer has read.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. WF marks a weakly fair action, and SF a strongly fair action; the actions without a
mark are not fair.

    coordinator  fail_over, WF load
    group        begin_rebalance, complete_rebalance, lose_all_members
    consumers    learn_generation, fetch_offset, process, commit_in_transaction, commit,
                 commit_too_much, end_commit, WF end_abort, SF write_marker
    operator     reset_offset, expire_offset, delete_group

Simplified: a transaction commits or aborts in one step, and its marker follows later. A consumer
sends its offsets before it ends the transaction. A consumer may act on a response that is old. A
consumer that learns a generation stops reading all its partitions (no cooperative rebalancing).
"""

from __future__ import annotations

from model.group_offsets.coordinator import GroupOffsetsCoordinator
from model.group_offsets.state import Entry, Member, Offset, TopicPartition
from model.language import (
    Bool,
    action,
    all_of,
    exists,
    false,
    first,
    forall,
    implies,
    ite,
    nothing,
    true,
    when,
)


class GroupOffsetsActions(GroupOffsetsCoordinator):
    # ---- the group

    @action
    def begin_rebalance(s) -> None:
        """A member joins, leaves or times out, and a rebalance begins.

        Kafka: GroupMetadataManager.prepareRebalance.
        Simplified: this action stands for every cause of a rebalance.
        Every claim also holds without the guard that no rebalance is in progress.
        """
        when(~s.group.is_rebalancing)
        s.group.is_rebalancing = true

    def begin_generation(s) -> None:
        when(s.group.is_rebalancing, s.group.generation < s.generations)
        s.group.generation = s.group.generation + 1
        s.group.is_rebalancing = false

    @action
    def complete_rebalance(s, p: TopicPartition, owner: Member) -> None:
        """The rebalance ends, and one partition changes its owner.

        A consumer that did not join learns of the new generation later.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the new generation and its assignment are one step. Partitions without an owner
        get the same owner as `p`.
        Every claim also holds without the guard that a rebalance is in progress.
        """
        s.begin_generation()
        for q in TopicPartition:
            gets = (q == p) | (s.group.owner[q] == nothing)
            s.group.owner[q] = ite(gets, owner, s.group.owner[q])

    @action
    def lose_all_members(s) -> None:
        """The rebalance ends without members, so the group is empty.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the members may disappear at any time.
        Every claim also holds without the guard that a rebalance is in progress.
        """
        s.begin_generation()
        for p in TopicPartition:
            s.group.owner[p] = nothing

    # ---- a consumer

    def has_written(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the open transaction of `m` has output for inputs of partition `p`."""
        return exists(s.consumer[m].written[p][x] for x in Offset)

    def has_sent(s, m: Member) -> Bool:
        return exists(s.consumer[m].sent[p] for p in TopicPartition)

    def has_nothing_open(s, m: Member) -> Bool:
        return all_of(~s.has_sent(m), ~exists(s.has_written(m, p) for p in TopicPartition))

    def stop_reading(s, m: Member) -> None:
        for p in TopicPartition:
            s.consumer[m].reads[p] = false
            s.consumer[m].position[p] = Offset(0)

    def give_up(s, m: Member) -> None:
        """The consumer `m` gives up its partitions, because it learns a new generation.

        If the consumer keeps a partition that it has lost, the claim `each_input_once` breaks (bug
        `keeps-lost-partitions`, 16 steps).
        """
        s.stop_reading(m)

    def may_learn(s, m: Member) -> Bool:
        """Returns True if the consumer `m` has no open transaction. An application learns a new
        generation during a poll, and has ended its transaction before.

        Without this rule, the claim `each_input_once` breaks (bug `rejoins-in-background`, 15
        steps).
        """
        return s.has_nothing_open(m)

    @action
    def learn_generation(s, m: Member) -> None:
        """A consumer without an open transaction learns the group's generation, and stops reading.

        Kafka: ConsumerCoordinator.onJoinPrepare and onJoinComplete, of group.protocol=classic. With
        group.protocol=consumer, a fenced consumer may learn it at any time (bug
        `rejoins-in-background`).
        Simplified: both methods are one step.
        """
        when(s.consumer[m].generation < s.group.generation, s.may_learn(m))
        s.consumer[m].generation = s.group.generation
        s.give_up(m)

    def may_return_offset(s, p: TopicPartition) -> Bool:
        """Returns True if no commit of the partition `p` is pending. While a commit is pending, the
        new owner of the partition must wait (OffsetFetch with requireStable).

        Without this rule, the claim `each_input_once` breaks (bug `returns-unstable`, 14 steps).
        """
        return s.is_stable(p)

    def takes_offset(s, p: TopicPartition, x: Offset) -> Bool:
        """Returns True if the consumer takes the offset `x` from the response for the partition
        `p`, because `x` is the partition's committed offset.

        If the consumer takes the offset of another partition, the claim `no_input_is_skipped`
        breaks (bug `mixes-up-partitions`, 6 steps).
        """
        return s.cache.committed[p].offset == x

    @action
    def fetch_offset(s, m: Member, p: TopicPartition) -> None:
        """The owner of a partition starts to read at the partition's committed offset.

        Kafka: OffsetFetch with requireStable (KIP-447).
        Simplified: if the partition has no committed offset, the owner starts at 0. The owner
        fetches the offset of each partition on its own.
        Without the guard that the consumer owns the partition, the claim `each_input_once` breaks
        in 8 steps.
        """
        when(
            s.group.owner[p] == m,
            s.consumer[m].generation == s.group.generation,
            ~s.consumer[m].reads[p],
            ~s.consumer[m].ended,
            s.serves(),
            s.may_return_offset(p),
        )
        s.consumer[m].reads[p] = true
        s.consumer[m].position[p] = first(Offset, lambda x: s.takes_offset(p, x), default=Offset(0))

    @action
    def process(s, m: Member, p: TopicPartition) -> None:
        """The consumer reads the next input record of a partition, and writes its output record in
        the open transaction.

        Kafka: KafkaConsumer.poll and KafkaProducer.send.
        Simplified: the read and the write are one step.
        Without the guard that the consumer has fetched its position, the claim `each_input_once`
        breaks in 11 steps.
        """
        c = s.consumer[m]
        at = c.position[p]
        when(c.reads[p], at < s.inputs, ~c.sent[p], ~c.ended)
        s.consumer[m].written[p][at] = true
        s.consumer[m].position[p] = at + 1

    # ---- commits

    def accepts(s, m: Member) -> Bool:
        """Returns True if the coordinator accepts the commits of the consumer `m`: the consumer
        must know the group's present generation. A rebalance in progress makes no difference.

        Without the check of the generation (before KIP-447), the claim `each_input_once` breaks
        (bug `forgets-generation`, 14 steps).
        """
        return s.consumer[m].generation == s.group.generation

    @action
    def commit_in_transaction(s, m: Member, p: TopicPartition) -> None:
        """The consumer commits its position in a partition as part of its transaction
        (TxnOffsetCommit). The commit is pending until the marker of the transaction arrives.

        Kafka: OffsetMetadataManager.commitTransactionalOffset.
        Simplified: each request has one partition. When a commit is refused, Kafka's transaction
        coordinator has already opened the transaction; this spec has no transaction coordinator.
        The group coordinator must have read its whole log. Without this guard, the claim
        `committed_is_the_last_that_counts` breaks in 8 steps.
        """
        c = s.consumer[m]
        when(c.reads[p], ~c.sent[p], s.has_written(m, p), s.accepts(m))
        s.append(Entry.of_transaction(m, p, c.position[p]))
        s.consumer[m].sent[p] = true

    def has_position(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the consumer `m` has a position to commit, because it reads the partition
        `p`.

        If the consumer keeps the position in a partition that it has lost, the claim
        `commits_are_current` breaks (bug `commits-lost-partitions`, 9 steps; librdkafka#2948).
        """
        return s.consumer[m].reads[p]

    def has_processed(s, m: Member) -> Bool:
        """Returns True if the consumer `m` has no open transaction. So the application has
        processed every input below its positions.

        If a consumer commits an input that the application has not processed, the claim
        `no_input_is_skipped` breaks (bug `commits-unprocessed`, 6 steps; KAFKA-18641).
        """
        return s.has_nothing_open(m)

    @action
    def commit(s, m: Member, p: TopicPartition) -> None:
        """The consumer commits its position in a partition outside a transaction (OffsetCommit).
        The commit takes effect at once.

        Kafka: OffsetMetadataManager.commitOffset.
        Simplified: the coordinator accepts a commit during the whole rebalance; Kafka refuses it
        while the members wait for their assignment. Automatic commits are commits at any time.

        Without the guard that the consumer has a position in the partition, the claim
        `commits_are_current` breaks in 2 steps.
        """
        when(s.has_position(m, p), s.has_processed(m), s.accepts(m))
        s.append(Entry.plain(p, s.consumer[m].position[p]))

    @action
    def commit_too_much(s, m: Member, p: TopicPartition) -> None:
        """The coordinator refuses a commit with too much metadata, and its cache does not change.

        Kafka: OFFSET_METADATA_TOO_LARGE.
        Simplified: the spec contains no metadata.
        If the refused commit remains pending in the cache, the claim `pending_is_decided` breaks
        (bug `forgets-refused`, 5 steps; KAFKA-16371).
        """
        when(s.consumer[m].reads[p], s.has_nothing_open(m), s.accepts(m), s.serves())

    # ---- the end of a transaction

    def has_sent_offsets(s, m: Member) -> Bool:
        """Returns True if the open transaction of `m` has an offset of each partition whose inputs
        the consumer has processed in this transaction.

        An application may commit its transaction only then. Without this rule, the claim
        `each_input_once` breaks (bug `commits-without-offsets`, 16 steps).
        """
        return forall(implies(s.has_written(m, p), s.consumer[m].sent[p]) for p in TopicPartition)

    @action
    def end_commit(s, m: Member) -> None:
        """The consumer's transaction commits its output records, and its COMMIT marker is in
        flight.

        Kafka: KafkaProducer.commitTransaction.
        Simplified: the transaction coordinator commits in one step.
        Without the guard that the transaction has not ended yet, the claim `no_input_is_skipped`
        breaks in 9 steps.
        """
        when(s.has_sent(m), ~s.consumer[m].ended, s.has_sent_offsets(m))
        for p in TopicPartition:
            for x in s.consumer[m].written[p]:
                s.repeated[p][x] = s.repeated[p][x] | s.output[p][x]
                s.output[p][x] = true
                s.consumer[m].written[p][x] = false
        s.consumer[m].ended = true
        s.consumer[m].committed = true

    @action(fair="weak")
    def end_abort(s, m: Member) -> None:
        """The transaction aborts, on request or after a timeout. The consumer must then read its
        inputs again.

        Kafka: KafkaProducer.abortTransaction; TransactionCoordinator.abortTimedOutTransactions.
        Simplified: the transaction may time out at any time.
        Every claim also holds without the guard that the transaction has output or an offset, and
        without the guard that it has not ended.
        """
        when(~s.has_nothing_open(m), ~s.consumer[m].ended)
        for p in TopicPartition:
            for x in Offset:
                s.consumer[m].written[p][x] = false
        s.consumer[m].ended = s.has_sent(m)
        s.stop_reading(m)

    @action(fair="strong")
    def write_marker(s, m: Member) -> None:
        """The coordinator appends the transaction's marker to its log, and commits or drops the
        pending offsets of all partitions.

        Kafka: WriteTxnMarkers to `__consumer_offsets`.
        Simplified: each transaction has exactly one marker.
        If an ABORT marker does not drop the offset, the claim `no_input_is_skipped` breaks (bug
        `counts-aborted`, 8 steps).
        """
        c = s.consumer[m]
        when(c.ended)
        s.append(Entry.marker(m, commits=c.committed))
        for p in TopicPartition:
            s.consumer[m].sent[p] = false
        s.consumer[m].ended = false
        s.consumer[m].committed = false

    # ---- reset, expiry, deletion

    @action
    def reset_offset(s, p: TopicPartition, to: Offset) -> None:
        """An operator commits an offset of a partition for a group without members.

        Kafka: OffsetMetadataManager.commitOffset, without a member id.
        Simplified: the operator may commit any offset.
        Without the guard that the coordinator has read its whole log, the claim
        `pending_is_what_markers_will_decide` breaks in 10 steps.
        """
        when(s.is_empty())
        s.append(Entry.plain(p, to))
        s.was_reset[p] = true

    def may_expire(s) -> Bool:
        """Returns True if the group is empty, so that its committed offsets may expire. The bug
        `expires-in-rebalance` changes this rule.
        """
        return s.is_empty()

    def may_drop(s, p: TopicPartition) -> Bool:
        """Returns True if no commit of the partition `p` is pending, so that its committed offset
        may expire.

        Without this rule, the claim `only_markers_decide` breaks (bug `expires-pending`, 10 steps;
        redpanda#31483).
        """
        return s.is_stable(p)

    @action
    def expire_offset(s, p: TopicPartition) -> None:
        """The committed offset of a partition expires, because the group had no members for
        offsets.retention.minutes.

        This is the rule of classic groups. For a group of KIP-848, Kafka counts the retention time
        from the commit. Such a group may lose the offset as soon as it has no members
        (docs/findings/committed-offset-expires.md).

        Kafka: OffsetMetadataManager.cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition.
        Simplified: the retention time may end at any time. Kafka also drops the offset of a topic
        to which a group with members does not subscribe any more.
        Without the guard that the group is empty, the claim `committed_offsets_last` breaks (bug
        `expires-in-rebalance`, 3 steps; KAFKA-13636).
        """
        when(s.may_expire(), s.cache.committed[p].offset != nothing, s.may_drop(p))
        s.append(Entry.plain(p, nothing))
        s.was_reset[p] = true

    @action
    def delete_group(s) -> None:
        """An operator deletes the group with its offsets. A later group may have the same name.

        Kafka: GroupCoordinatorService.deleteGroups.
        Simplified: one record deletes the group and its offsets.
        Without the guard that the group has no members, the claim `committed_offsets_last` breaks
        in 3 steps.
        """
        has_offset = exists(s.cache.committed[p].offset != nothing for p in TopicPartition)
        is_stable = forall(s.is_stable(p) for p in TopicPartition)
        when(s.is_empty(), is_stable, (s.group.generation > 0) | has_offset)
        s.append(Entry.end_of_group())
        for p in TopicPartition:
            s.was_reset[p] = true
