"""The claims about committed offsets: about the coordinator's responses, and about exactly-once
processing.
"""

from __future__ import annotations

from typing import Self

from model.group_offsets.actions import GroupOffsetsActions
from model.group_offsets.state import LogOffset, Member, Offset
from model.language import (
    Bool,
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
    # ---- claims

    def stands(s, at: LogOffset) -> Bool:
        """Returns True if the record at offset `at` of the log is a commit, and no tombstone
        follows it.
        """
        return all_of(
            at < s.end_offset,
            s.log[at].offset != nothing,
            forall(
                implies(all_of(at < x, x < s.end_offset), ~s.log[x].is_tombstone())
                for x in LogOffset
            ),
        )

    def is_open(s, at: LogOffset) -> Bool:
        return forall(implies(all_of(at < x, x < s.end_offset), ~s.ends(x, at)) for x in LogOffset)

    def ends(s, x: LogOffset, at: LogOffset) -> Bool:
        return s.log[x].is_marker() & (s.log[x].producer == s.log[at].producer)

    def counts(s, at: LogOffset) -> Bool:
        """Returns True if the commit at the offset `at` took effect, and no later tombstone has
        deleted it.

        A commit in a transaction takes effect if the next marker of its producer is a COMMIT. A
        commit outside transactions takes effect at once.
        """
        decided = exists(
            all_of(
                at < x,
                x < s.end_offset,
                s.ends(x, at),
                s.log[x].commits,
                forall(implies(all_of(at < y, y < x), ~s.ends(y, at)) for y in LogOffset),
            )
            for x in LogOffset
        )
        return s.stands(at) & (~s.log[at].in_transaction | decided)

    @invariant
    def committed_is_the_last_that_counts(s) -> Bool:
        """Whenever the coordinator has read its whole log, its committed offset is the offset of
        the last commit in the log that took effect.

        If there is no such commit, the coordinator has no committed offset.
        """
        at = last(LogOffset, s.counts, default=LogOffset(0))
        known = ite(s.counts(at), s.log[at].offset, nothing)
        return implies(s.serves(), s.cache.committed.offset == known)

    @invariant
    def pending_is_what_markers_will_decide(s) -> Bool:
        """A transactional commit is pending until the log has a later marker of its transaction, or
        a later tombstone.

        The claim is about a coordinator that has read its whole log.
        """
        return implies(
            s.serves(),
            forall(
                s.is_pending(m)
                == exists(
                    all_of(
                        s.stands(at),
                        s.log[at].in_transaction,
                        s.log[at].producer == m,
                        s.is_open(at),
                    )
                    for at in LogOffset
                )
                for m in Member
            ),
        )

    # ---- claims

    @invariant
    def each_input_once(s) -> Bool:
        """The output of an input is never committed twice, unless the group's offset was reset,
        expired or deleted.
        """
        return s.was_reset | forall(~s.repeated[x] for x in Offset)

    @invariant
    def no_input_is_skipped(s) -> Bool:
        """Every input below the committed offset has committed output, unless the offset was
        reset, expired or deleted.
        """
        return s.was_reset | forall(
            implies(
                s.cache.committed.offset == to, forall(implies(x < to, s.output[x]) for x in Offset)
            )
            for to in Offset
        )

    @action_property
    def commits_are_current(s, after: Self) -> Bool:
        """The coordinator accepts a transactional commit only from a consumer that knows the
        group's present generation.
        """
        return forall(
            implies(
                ~s.consumer[m].sent & after.consumer[m].sent,
                s.consumer[m].generation == s.group.generation,
            )
            for m in Member
        )

    @action_property
    def reading_starts_at_stable_offsets(s, after: Self) -> Bool:
        """A consumer starts to read only while no commit of the group is pending."""
        return forall(
            implies(~s.consumer[m].reads & after.consumer[m].reads, s.is_stable()) for m in Member
        )

    @action_property
    def committed_offsets_last(s, after: Self) -> Bool:
        """A group never loses its committed offset while it has members, or while a rebalance is in
        progress.
        """
        forgets = (s.cache.committed.offset != nothing) & (after.cache.committed.offset == nothing)
        return implies(all_of(s.serves(), after.serves(), forgets), s.is_empty())

    @liveness
    def pending_is_decided(s, m: Member) -> Temporal:
        """Every pending offset is eventually committed or dropped.

        The search has a largest size of the log. The claim is also satisfied if the log reaches
        this size.
        """
        return leads_to(s.is_pending(m), ~s.is_pending(m) | (s.end_offset == s.log_size))

    # ---- witnesses

    @witness
    def a_transaction_commits_an_offset(s) -> Bool:
        """Reachable: the group's committed offset comes from a commit in a transaction."""
        return s.serves() & exists(
            all_of(s.counts(at), s.log[at].in_transaction, s.cache.committed.at == at)
            for at in LogOffset
        )

    @witness
    def a_later_commit_outranks_a_pending_one(s) -> Bool:
        """Reachable: a commit is in effect, and the marker of an earlier commit is at a higher
        offset of the log.

        The earlier commit was pending when the later commit was appended.
        """
        known = s.cache.committed
        return all_of(s.serves(), known.offset != nothing) & exists(
            all_of(
                s.counts(at),
                at < known.at,
                known.at < marker,
                marker < s.end_offset,
                s.ends(marker, at),
            )
            for at in LogOffset
            for marker in LogOffset
        )

    @witness
    def a_member_is_behind(s) -> Bool:
        """Reachable: a consumer has written output in an old generation, although the group has
        started a newer generation.
        """
        return exists(
            all_of(s.consumer[m].generation < s.group.generation, s.consumer[m].written[x])
            for m in Member
            for x in Offset
        )

    @witness
    def a_takeover_waits(s) -> Bool:
        """Reachable: the partition's owner cannot start to read, because a commit is pending."""
        return exists(
            all_of(s.group.owner == m, ~s.consumer[m].reads, ~s.is_stable()) for m in Member
        )
