"""The actions of committed offsets: the coordinator replays its log, and consumers commit.

A commit *counts* as soon as it takes effect. A commit outside transactions counts as soon as it is
in the coordinator's log. A commit in a transaction is *pending* until the log has the marker of the
transaction. An ABORT marker drops the pending commit. A COMMIT marker makes the pending commit
count, unless a later commit in the log counts already. A tombstone deletes the committed offset and
all pending commits. A new coordinator reads the log from the start, and answers no request until it
has reached the end.

The group reads one partition. A new owner of the partition starts at the committed offset, and
waits while a commit is pending. The consumer commits its output and its offset in one transaction.
The group may give the partition to another consumer before the old owner learns of this, and it
does not fence the producer of the old owner. So each commit carries the generation in which the
consumer has read.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. WF marks a weakly fair action, and SF a strongly fair action; the actions without a
mark are not fair.

    coordinator  fail_over, WF load
    group        begin_rebalance, complete_rebalance, lose_all_members
    consumers    learn_generation, fetch_offset, process, commit_in_transaction, commit,
                 commit_too_much, end_commit, WF end_abort, SF write_marker
    operator     reset_offset, expire_offset, delete_group

Simplified: a transaction commits or aborts in one step, and its marker follows later. A consumer
sends its offset before it ends the transaction. A consumer may act on a response that is old.
"""

from __future__ import annotations

from model.group_offsets.state import (
    Commit,
    Entry,
    Group,
    GroupOffsetsState,
    LogOffset,
    Member,
    Offset,
)
from model.language import (
    Bool,
    Nothing,
    action,
    all_of,
    exists,
    false,
    first,
    ite,
    nothing,
    true,
    when,
)


class GroupOffsetsActions(GroupOffsetsState):
    # ---- replaying the log

    def append(s, entry: Entry) -> None:
        at = s.end_offset
        when(s.serves(), at < s.log_size)
        s.log[at] = entry
        s.end_offset = at + 1
        s.apply(entry, at)

    def apply(s, entry: Entry, at: LogOffset) -> None:
        """Updates the coordinator's cache with `entry`, the record at offset `at` of the log."""
        committed, waiting = s.cache.committed, s.cache.pending[entry.producer]
        counts = all_of(entry.is_marker(), s.commits(entry), s.outranks(waiting, committed))
        own = Commit(offset=entry.offset, at=at)
        none = Commit.blank()
        s.cache.committed = ite(
            entry.in_transaction,
            ite(counts, waiting, committed),
            ite(entry.is_tombstone(), none, own),
        )
        for m in Member:
            mine = entry.in_transaction & (entry.producer == m)
            s.cache.pending[m] = ite(
                entry.is_tombstone() | (mine & entry.is_marker()),
                none,
                ite(mine, own, s.cache.pending[m]),
            )
        s.cache.loaded = at + 1

    def commits(s, marker: Entry) -> Bool:
        return marker.commits

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        """Returns True if a COMMIT marker puts the pending commit `waiting` into effect, because
        `waiting` is later in the log than `committed`. If no commit is pending, the function
        returns False.

        Without the comparison, the claim `committed_is_the_last_that_counts` breaks (bug
        `ranks-by-marker`, 11 steps).
        """
        later = (committed.offset == nothing) | (committed.at < waiting.at)
        return (waiting.offset != nothing) & later

    # ---- failover

    @action
    def fail_over(s) -> None:
        """Another coordinator takes over the group, and starts with an empty cache.

        Kafka: GroupCoordinatorService.onElection.
        Simplified: the new coordinator has the same log as the old one. The action has no guard,
        because a failover may happen in any state.
        """
        for m in Member:
            s.cache.pending[m] = Commit.blank()
        s.cache.committed = Commit.blank()
        s.cache.loaded = LogOffset(0)

    def read(s, at: LogOffset) -> Entry:
        return s.log[at]

    @action(fair="weak")
    def load(s) -> None:
        """The new coordinator reads the next record of the log into its cache.

        Kafka: OffsetMetadataManager.replay.
        Simplified: each step reads one record.
        If the records are not applied in the order of the log, the claim
        `committed_is_the_last_that_counts` breaks (bug `drops-deleted-groups`, 7 steps;
        KAFKA-4704).
        """
        at = s.cache.loaded
        when(at < s.end_offset)
        s.apply(s.read(at), at)

    # ---- the group

    def is_empty(s) -> Bool:
        return (s.group.owner == nothing) & ~s.group.is_rebalancing

    @action
    def begin_rebalance(s) -> None:
        """A member joins, leaves or times out, and a rebalance begins.

        Kafka: GroupMetadataManager.prepareRebalance.
        Simplified: this action stands for every cause of a rebalance.
        Every claim also holds without the guard that no rebalance is in progress.
        """
        when(~s.group.is_rebalancing)
        s.group.is_rebalancing = true

    def assign(s, owner: Member | Nothing) -> None:
        when(s.group.is_rebalancing, s.group.generation < s.generations)
        s.group = Group(generation=s.group.generation + 1, owner=owner, is_rebalancing=false)

    @action
    def complete_rebalance(s, owner: Member) -> None:
        """The rebalance ends, and the partition gets an owner.

        A consumer that did not join learns of the new generation later.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the new generation and its assignment are one step.
        Every claim also holds without the guard that a rebalance is in progress.
        """
        s.assign(owner)

    @action
    def lose_all_members(s) -> None:
        """The rebalance ends without members, so the group is empty.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the members may disappear at any time.
        Every claim also holds without the guard that a rebalance is in progress.
        """
        s.assign(nothing)

    # ---- a consumer

    def has_nothing_open(s, m: Member) -> Bool:
        return all_of(~s.consumer[m].sent, ~exists(s.consumer[m].written[x] for x in Offset))

    def stop_reading(s, m: Member) -> None:
        s.consumer[m].reads = false
        s.consumer[m].position = Offset(0)

    @action
    def learn_generation(s, m: Member) -> None:
        """A consumer without an open transaction learns the group's generation, and stops reading.

        Kafka: ConsumerCoordinator.onJoinPrepare and onJoinComplete.
        Simplified: both methods are one step.
        Without the guard that no transaction is open, the claim `each_input_once` breaks in 15
        steps.
        """
        when(s.consumer[m].generation < s.group.generation, s.has_nothing_open(m))
        s.consumer[m].generation = s.group.generation
        s.stop_reading(m)

    def may_return_offset(s) -> Bool:
        """Returns True if no commit is pending. While a commit is pending, the new owner of the
        partition must wait (OffsetFetch with requireStable).

        Without this rule, the claim `each_input_once` breaks (bug `returns-unstable`, 14 steps).
        """
        return s.is_stable()

    @action
    def fetch_offset(s, m: Member) -> None:
        """The owner of the partition starts to read at the group's committed offset.

        Kafka: OffsetFetch with requireStable (KIP-447).
        Simplified: if the group has no committed offset, the owner starts at 0.
        Without the guard that the consumer owns the partition, the claim `each_input_once` breaks
        in 8 steps.
        """
        when(
            s.group.owner == m,
            s.consumer[m].generation == s.group.generation,
            ~s.consumer[m].reads,
            ~s.consumer[m].ended,
            s.serves(),
            s.may_return_offset(),
        )
        s.consumer[m].reads = true
        s.consumer[m].position = first(
            Offset, lambda x: s.cache.committed.offset == x, default=Offset(0)
        )

    @action
    def process(s, m: Member) -> None:
        """The consumer reads the next input record, and writes its output record in the open
        transaction.

        Kafka: KafkaConsumer.poll and KafkaProducer.send.
        Simplified: the read and the write are one step.
        Without the guard that the consumer has fetched its position, the claim `each_input_once`
        breaks in 11 steps.
        """
        c = s.consumer[m]
        at = c.position
        when(c.reads, at < s.inputs, ~c.sent)
        s.consumer[m].written[at] = true
        s.consumer[m].position = at + 1

    # ---- commits

    def accepts(s, m: Member) -> Bool:
        """Returns True if the coordinator accepts the commits of the consumer `m`: the consumer
        must know the group's present generation. A rebalance in progress makes no difference.

        Without the check of the generation (before KIP-447), the claim `each_input_once` breaks
        (bug `forgets-generation`, 14 steps).
        """
        return s.consumer[m].generation == s.group.generation

    @action
    def commit_in_transaction(s, m: Member) -> None:
        """The consumer commits its position as part of its transaction (TxnOffsetCommit). The
        commit is pending until the marker of the transaction arrives.

        Kafka: OffsetMetadataManager.commitTransactionalOffset.
        Simplified: the commit has one partition. When a commit is refused, Kafka's transaction
        coordinator has already opened the transaction; this spec has no transaction coordinator.
        The group coordinator must have read its whole log. Without this guard, the claim
        `committed_is_the_last_that_counts` breaks in 8 steps.
        """
        c = s.consumer[m]
        when(c.reads, ~c.sent, exists(c.written[x] for x in Offset), s.accepts(m))
        s.append(Entry.of_transaction(m, c.position))
        s.consumer[m].sent = true

    @action
    def commit(s, m: Member) -> None:
        """The consumer commits its position outside a transaction (OffsetCommit). The commit takes
        effect at once.

        Kafka: OffsetMetadataManager.commitOffset.
        Simplified: the coordinator accepts a commit during the whole rebalance; Kafka refuses it
        while the members wait for their assignment.
        Without the guard that the consumer has no output in an open transaction, the claim
        `no_input_is_skipped` breaks in 6 steps.
        """
        c = s.consumer[m]
        when(c.reads, s.has_nothing_open(m), s.accepts(m))
        s.append(Entry.plain(c.position))

    @action
    def commit_too_much(s, m: Member) -> None:
        """The coordinator refuses a commit with too much metadata, and its cache does not change.

        Kafka: OFFSET_METADATA_TOO_LARGE.
        Simplified: the spec contains no metadata.
        If the refused commit remains pending in the cache, the claim `pending_is_decided` breaks
        (bug `forgets-refused`, 5 steps; KAFKA-16371).
        """
        when(s.consumer[m].reads, s.has_nothing_open(m), s.accepts(m), s.serves())

    # ---- the end of a transaction

    @action
    def end_commit(s, m: Member) -> None:
        """The consumer's transaction commits its output records, and its COMMIT marker is in
        flight.

        Kafka: KafkaProducer.commitTransaction.
        Simplified: the transaction coordinator commits in one step.
        Without the guard that the transaction has not ended yet, the claim `no_input_is_skipped`
        breaks in 9 steps.
        """
        c = s.consumer[m]
        when(c.sent, ~c.ended)
        for x in c.written:
            s.repeated[x] = s.repeated[x] | s.output[x]
            s.output[x] = true
            s.consumer[m].written[x] = false
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
        c = s.consumer[m]
        when(~s.has_nothing_open(m), ~c.ended)
        for x in Offset:
            s.consumer[m].written[x] = false
        s.consumer[m].ended = c.sent
        s.consumer[m].reads = false
        s.consumer[m].position = Offset(0)

    @action(fair="strong")
    def write_marker(s, m: Member) -> None:
        """The coordinator appends the transaction's marker to its log, and commits or drops the
        pending offset.

        Kafka: WriteTxnMarkers to `__consumer_offsets`.
        Simplified: each transaction has exactly one marker.
        If an ABORT marker does not drop the offset, the claim `no_input_is_skipped` breaks (bug
        `counts-aborted`, 8 steps).
        """
        c = s.consumer[m]
        when(c.ended)
        s.append(Entry.of_transaction(m, nothing, commits=c.committed))
        s.consumer[m].sent = false
        s.consumer[m].ended = false
        s.consumer[m].committed = false

    # ---- reset, expiry, deletion

    @action
    def reset_offset(s, to: Offset) -> None:
        """An operator commits an offset for a group without members.

        Kafka: OffsetMetadataManager.commitOffset, without a member id.
        Simplified: the operator may commit any offset.
        Without the guard that the coordinator has read its whole log, the claim
        `pending_is_what_markers_will_decide` breaks in 10 steps.
        """
        when(s.is_empty())
        s.append(Entry.plain(to))
        s.was_reset = true

    def may_expire(s) -> Bool:
        """Returns True if the group is empty. The bug `expires-in-rebalance` changes this rule."""
        return s.is_empty()

    @action
    def expire_offset(s) -> None:
        """The committed offset expires, because the group had no members for
        offsets.retention.minutes.

        Kafka: OffsetMetadataManager.cleanupExpiredOffsets.
        Simplified: the retention time may end at any time.
        Without the guard that the group is empty, the claim `committed_offsets_last` breaks (bug
        `expires-in-rebalance`, 3 steps; KAFKA-13636).
        """
        when(s.may_expire(), s.cache.committed.offset != nothing, s.is_stable())
        s.append(Entry.plain(nothing))
        s.was_reset = true

    @action
    def delete_group(s) -> None:
        """An operator deletes the group with its offset. A later group may have the same name.

        Kafka: GroupCoordinatorService.deleteGroups.
        Simplified: one record deletes the group and its offset.
        Without the guard that the group has no members, the claim `committed_offsets_last` breaks
        in 3 steps.
        """
        has_been = (s.group.generation > 0) | (s.cache.committed.offset != nothing)
        when(s.is_empty(), s.is_stable(), has_been)
        s.append(Entry.plain(nothing, ends_group=true))
        s.was_reset = true
