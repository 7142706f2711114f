"""The claims about committed offsets: about the coordinator's responses, and about exactly-once
processing.
"""

from __future__ import annotations

from typing import Self

from model.group_offsets.actions import GroupOffsetsActions
from model.group_offsets.state import LogOffset, Member, Offset, TopicPartition
from model.language import (
    Bool,
    Nothing,
    Temporal,
    action_property,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    ite,
    last,
    leads_to,
    liveness,
    nothing,
    witness,
)


class GroupOffsetsClaims(GroupOffsetsActions):
    def stands(s, at: LogOffset) -> Bool:
        """Returns True if the record at offset `at` of the log is a commit, and no tombstone of its
        partition follows it.
        """
        return all_of(
            at < s.end_offset,
            s.log[at].offset != nothing,
            forall(
                implies(all_of(at < x, x < s.end_offset), ~s.log[x].deletes(s.log[at].partition))
                for x in LogOffset
            ),
        )

    def is_open(s, at: LogOffset) -> Bool:
        return forall(implies(all_of(at < x, x < s.end_offset), ~s.ends(x, at)) for x in LogOffset)

    def ends(s, x: LogOffset, at: LogOffset) -> Bool:
        return s.log[x].is_marker() & (s.log[x].producer == s.log[at].producer)

    def commits_at(s, x: LogOffset, at: LogOffset) -> Bool:
        """Returns True if the record at `x` is a COMMIT marker that ends the transaction of the
        commit at `at`. Only the first marker of this commit's producer after `at` ends the
        transaction.
        """
        return all_of(
            at < x,
            x < s.end_offset,
            s.ends(x, at),
            s.log[x].commits,
            forall(implies(all_of(at < y, y < x), ~s.ends(y, at)) for y in LogOffset),
        )

    def counts(s, at: LogOffset) -> Bool:
        """Returns True if the commit at the offset `at` took effect, and no later tombstone has
        deleted it.

        A commit in a transaction takes effect if the next marker of its producer is a COMMIT. A
        commit outside transactions takes effect at once.
        """
        decided = exists(s.commits_at(x, at) for x in LogOffset)
        return s.stands(at) & (~s.log[at].in_transaction | decided)

    def counts_for(s, p: TopicPartition, at: LogOffset) -> Bool:
        return s.counts(at) & (s.log[at].partition == p)

    @invariant
    def committed_is_the_last_that_counts(s) -> Bool:
        """When the coordinator has read its whole log, its committed offset of a partition is the
        offset of the partition's last commit in effect.

        This is the last commit of the partition in the log that took effect and was not deleted by
        a later tombstone. If there is no such commit, the partition has no committed offset.
        """
        return implies(
            s.serves(),
            forall(s.cache.committed[p].offset == s.last_that_counts(p) for p in TopicPartition),
        )

    def last_that_counts(s, p: TopicPartition) -> Offset | Nothing:
        at = last(LogOffset, lambda x: s.counts_for(p, x), default=LogOffset(0))
        return ite(s.counts_for(p, at), s.log[at].offset, nothing)

    @invariant
    def pending_is_what_markers_will_decide(s) -> Bool:
        """A transactional commit is pending until the log has a later marker of its transaction, or
        a later tombstone of its partition.

        The claim is about a coordinator that has read its whole log.
        """
        return implies(
            s.serves(),
            forall(
                s.is_pending(m, p)
                == exists(
                    all_of(
                        s.stands(at),
                        s.log[at].in_transaction,
                        s.log[at].producer == m,
                        s.log[at].partition == p,
                        s.is_open(at),
                    )
                    for at in LogOffset
                )
                for m in Member
                for p in TopicPartition
            ),
        )

    @invariant
    def each_input_once(s) -> Bool:
        """The output of an input is never committed twice, unless the offset of its partition was
        reset, expired or deleted.
        """
        return forall(s.was_reset[p] | ~s.repeated[p][x] for p in TopicPartition for x in Offset)

    @invariant
    def no_input_is_skipped(s) -> Bool:
        """Every input below the committed offset has committed output, unless the offset was
        reset, expired or deleted.
        """
        return forall(
            implies(
                (s.cache.committed[p].offset == to) & ~s.was_reset[p],
                forall(implies(x < to, s.output[p][x]) for x in Offset),
            )
            for p in TopicPartition
            for to in Offset
        )

    @action_property
    def commits_are_current(s, after: Self) -> Bool:
        """The coordinator accepts an offset only from the partition's owner in the group's present
        generation, or from an operator while the group is empty.

        If the owner commits an offset, this offset is the owner's position. The claim is about
        commits in a transaction and about commits outside transactions.
        """
        new = after.log[s.end_offset]
        is_commit = (s.end_offset < after.end_offset) & (new.offset != nothing)
        return implies(
            is_commit,
            (~new.in_transaction & s.is_empty())
            | exists(
                all_of(
                    new.partition == p,
                    s.group.owner[p] == m,
                    s.consumer[m].generation == s.group.generation,
                    s.consumer[m].reads[p],
                    new.offset == s.consumer[m].position[p],
                    implies(new.in_transaction, new.producer == m),
                )
                for m in Member
                for p in TopicPartition
            ),
        )

    @action_property
    def only_markers_decide(s, after: Self) -> Bool:
        """A pending offset is committed or dropped only by the marker of its transaction.

        The claim is about a coordinator that has read its whole log.
        """
        new = after.log[s.end_offset]
        return implies(
            s.serves() & after.serves(),
            forall(
                implies(
                    s.is_pending(m, p) & ~after.is_pending(m, p),
                    new.is_marker() & (new.producer == m),
                )
                for m in Member
                for p in TopicPartition
            ),
        )

    @action_property
    def reading_starts_at_stable_offsets(s, after: Self) -> Bool:
        """A consumer starts to read a partition only while no commit of it is pending."""
        return forall(
            implies(~s.consumer[m].reads[p] & after.consumer[m].reads[p], s.is_stable(p))
            for m in Member
            for p in TopicPartition
        )

    @action_property
    def committed_offsets_last(s, after: Self) -> Bool:
        """A group never loses a committed offset while it has members, or while a rebalance is in
        progress.
        """
        forgets = exists(
            (s.cache.committed[p].offset != nothing) & (after.cache.committed[p].offset == nothing)
            for p in TopicPartition
        )
        return implies(all_of(s.serves(), after.serves(), forgets), s.is_empty())

    @liveness
    def pending_is_decided(s, m: Member, p: TopicPartition) -> Temporal:
        """Every pending offset is eventually committed or dropped.

        The search limits the size of the log. The claim is also satisfied if the log reaches this
        limit.
        """
        is_full = s.end_offset == s.log_size
        return leads_to(s.is_pending(m, p), ~s.is_pending(m, p) | is_full)

    # ---- witnesses

    @witness
    def a_transaction_commits_all_offsets(s) -> Bool:
        """Reachable: one marker has committed the offsets of all partitions."""
        return s.serves() & exists(
            forall(
                exists(
                    all_of(
                        s.counts_for(p, at),
                        s.log[at].in_transaction,
                        s.cache.committed[p].at == at,
                        s.commits_at(x, at),
                    )
                    for at in LogOffset
                )
                for p in TopicPartition
            )
            for x in LogOffset
        )

    @witness
    def a_later_commit_outranks_a_pending_one(s) -> Bool:
        """Reachable: a commit is in effect, and the marker of an earlier commit of the same
        partition is at a higher offset of the log.

        The earlier commit was pending when the later commit was appended.
        """
        return s.serves() & exists(
            all_of(
                s.cache.committed[p].offset != nothing,
                s.counts_for(p, at),
                at < s.cache.committed[p].at,
                s.cache.committed[p].at < marker,
                marker < s.end_offset,
                s.ends(marker, at),
            )
            for p in TopicPartition
            for at in LogOffset
            for marker in LogOffset
        )

    @witness
    def a_member_is_behind(s) -> Bool:
        """Reachable: a consumer has written output in an old generation, although the group has
        started a newer generation.
        """
        return exists(
            all_of(s.consumer[m].generation < s.group.generation, s.has_written(m, p))
            for m in Member
            for p in TopicPartition
        )

    @witness
    def a_takeover_waits(s) -> Bool:
        """Reachable: a partition's owner cannot start to read, because a commit is pending."""
        return exists(
            all_of(s.group.owner[p] == m, ~s.consumer[m].reads[p], ~s.is_stable(p))
            for m in Member
            for p in TopicPartition
        )
