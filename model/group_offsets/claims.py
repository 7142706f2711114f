"""The claims about committed offsets: what the coordinator answers, and exactly-once processing."""

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
    """Claims about the coordinator's cache, and about exactly-once processing in transactions."""

    # ---- claims

    def stands(s, at: LogOffset) -> Bool:
        """True if the record is a commit, and no later tombstone has dropped it."""
        return all_of(
            at < s.end_offset,
            s.log[at].offset != nothing,
            forall(
                implies(all_of(at < x, x < s.end_offset), ~s.log[x].is_tombstone())
                for x in LogOffset
            ),
        )

    def is_open(s, at: LogOffset) -> Bool:
        """True if no marker follows the commit of the transaction."""
        return forall(implies(all_of(at < x, x < s.end_offset), ~s.ends(x, at)) for x in LogOffset)

    def ends(s, x: LogOffset, at: LogOffset) -> Bool:
        """True if the first record is a marker of the second record's producer."""
        return s.log[x].is_marker() & (s.log[x].producer == s.log[at].producer)

    def counts(s, at: LogOffset) -> Bool:
        """True if the commit is outside transactions, or the first marker after it says COMMIT."""
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
        """A coordinator that serves returns the last commit of the log that counts, also after a
        failover.
        """
        at = last(LogOffset, s.counts, default=LogOffset(0))
        known = ite(s.counts(at), s.log[at].offset, nothing)
        return implies(s.serves(), s.cache.committed.offset == known)

    @invariant
    def pending_is_what_markers_will_decide(s) -> Bool:
        """A commit is pending exactly while it is in the log without a later marker or
        tombstone.
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
        """The committed output has no input twice, unless the group's offset was reset or
        deleted.
        """
        return s.was_reset | forall(~s.repeated[x] for x in Offset)

    @invariant
    def no_input_is_skipped(s) -> Bool:
        """Every input below the committed offset is in the output, unless the offset was reset
        or deleted.
        """
        return s.was_reset | forall(
            implies(
                s.cache.committed.offset == to, forall(implies(x < to, s.output[x]) for x in Offset)
            )
            for to in Offset
        )

    @action_property
    def commits_are_current(s, after: Self) -> Bool:
        """A transactional commit is accepted only in the group's present generation."""
        return forall(
            implies(
                ~s.consumer[m].sent & after.consumer[m].sent,
                s.consumer[m].generation == s.group.generation,
            )
            for m in Member
        )

    @action_property
    def told_offsets_are_stable(s, after: Self) -> Bool:
        """A consumer starts to read only while no commit is pending."""
        return forall(
            implies(~s.consumer[m].reads & after.consumer[m].reads, s.is_stable()) for m in Member
        )

    @action_property
    def committed_offsets_last(s, after: Self) -> Bool:
        """A group that is not empty keeps its committed offset."""
        forgets = (s.cache.committed.offset != nothing) & (after.cache.committed.offset == nothing)
        return implies(all_of(s.serves(), after.serves(), forgets), s.is_empty())

    @liveness
    def pending_is_decided(s, m: Member) -> Temporal:
        """A pending offset is decided in the end, while the log has room."""
        return leads_to(s.is_pending(m), ~s.is_pending(m) | (s.end_offset == s.log_size))

    # ---- witnesses

    @witness
    def a_transaction_commits_an_offset(s) -> Bool:
        """Reachable: the committed offset was committed in a transaction."""
        return s.serves() & exists(
            all_of(s.counts(at), s.log[at].in_transaction, s.cache.committed.at == at)
            for at in LogOffset
        )

    @witness
    def a_later_commit_outranks_a_pending_one(s) -> Bool:
        """Reachable: a commit made while another was pending still counts after that one's
        marker.
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
        """Reachable: a consumer has written output in a generation that the group has left."""
        return exists(
            all_of(s.consumer[m].generation < s.group.generation, s.consumer[m].written[x])
            for m in Member
            for x in Offset
        )

    @witness
    def a_takeover_waits(s) -> Bool:
        """Reachable: the owner cannot start, because a commit is pending."""
        return exists(
            all_of(s.group.owner == m, ~s.consumer[m].reads, ~s.is_stable()) for m in Member
        )
