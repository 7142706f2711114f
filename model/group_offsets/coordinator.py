"""The coordinator of committed offsets: it appends records to its log, and replays the log into its
cache.

A commit *counts* as soon as it takes effect. A commit outside transactions counts as soon as it is
in the coordinator's log. A commit in a transaction is *pending* until the log has the marker of the
transaction. An ABORT marker drops the transaction's pending commits. A COMMIT marker makes them
count, for all partitions at once, except where a later commit of the partition counts already. A
tombstone deletes the committed offset and all pending commits of one partition, or of the whole
group. A new coordinator reads the log from the start, and answers no request until it has reached
the end.
"""

from __future__ import annotations

from model.group_offsets.state import (
    Commit,
    Entry,
    GroupOffsetsState,
    LogOffset,
    Member,
    TopicPartition,
)
from model.language import Bool, action, all_of, ite, nothing, true, when


class GroupOffsetsCoordinator(GroupOffsetsState):
    # ---- replaying the log

    def append(s, entry: Entry) -> None:
        at = s.end_offset
        when(s.serves(), at < s.log_size)
        s.log[at] = entry
        s.end_offset = at + 1
        s.apply(entry, at)

    def apply(s, entry: Entry, at: LogOffset) -> None:
        """Updates the coordinator's cache with `entry`, the record at offset `at` of the log."""
        own = Commit(offset=entry.offset, at=at)
        none = Commit.blank()
        for p in TopicPartition:
            committed, waiting = s.cache.committed[p], s.cache.pending[entry.producer][p]
            counts = all_of(entry.is_marker(), s.commits(entry), s.outranks(waiting, committed))
            is_plain = ~entry.in_transaction & (entry.partition == p)
            s.cache.committed[p] = ite(
                entry.in_transaction,
                ite(counts, waiting, committed),
                ite(entry.deletes(p), none, ite(is_plain, own, committed)),
            )
        for m in Member:
            mine = entry.in_transaction & (entry.producer == m)
            for p in TopicPartition:
                s.cache.pending[m][p] = ite(
                    entry.deletes(p) | (mine & entry.is_marker()),
                    none,
                    ite(
                        mine & (entry.partition == p),
                        own,
                        ite(mine & ~s.keeps_pending(), none, s.cache.pending[m][p]),
                    ),
                )
        s.cache.loaded = at + 1

    def commits(s, marker: Entry) -> Bool:
        return marker.commits

    def keeps_pending(s) -> Bool:
        """Returns True always: a commit in a transaction does not change the transaction's pending
        commits of other partitions.

        Without this rule, the claim `pending_is_what_markers_will_decide` breaks (bug
        `keeps-last-request`, 9 steps).
        """
        return true

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        """Returns True if a COMMIT marker puts the pending commit `waiting` into effect. If no
        commit is pending, returns False.

        Otherwise, returns True if `waiting` is later in the log than `committed` (the commit that
        is in effect), or if no commit is in effect.

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
        Simplified: the new coordinator has the same log as the old one, which answers no request
        any more. The action has no guard, because a failover may happen in any state.
        """
        for p in TopicPartition:
            s.cache.committed[p] = Commit.blank()
            for m in Member:
                s.cache.pending[m][p] = Commit.blank()
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
