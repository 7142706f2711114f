"""A group coordinator keeps committed offsets in a log, and a cache that is this log, replayed.

A plain commit counts when it is appended. One of a transaction is *pending* until the transaction's
marker: COMMIT has it count, unless a record that was appended after it counts already; ABORT drops
it. What ranks is where the commit stands in the log, not where its marker does. A tombstone drops
both. A coordinator that fails over forgets its cache and reads the log from the start; until it has
read all of it, it answers nobody.

Source: KIP-98 and KIP-447 on TxnOffsetCommit; KIP-211 on expiry; kafka 3.7 GroupMetadataManager.
Simplified: a group reads one partition, so it has one committed offset. What is appended is
committed at once: `replication` is about that. Nothing is compacted.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Sort,
    Spec,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    last,
    nothing,
    true,
    when,
)


class Member(Sort):
    """A consumer with a transactional producer of its own."""

    prefix = "m"


class Offset(Int):
    """The next record to read of the partition that the group reads."""


class LogOffset(Int):
    """A position in the coordinator's log, or its end."""


class Entry(Record):
    """A record of the log; one without an offset is a marker or a tombstone."""

    offset: Offset | Nothing
    in_transaction: Bool
    producer: Member  # whose transaction
    commits: Bool  # a marker
    ends_group: Bool  # a tombstone

    def is_marker(self) -> Bool:
        return self.in_transaction & (self.offset == nothing)

    def is_tombstone(self) -> Bool:
        return ~self.in_transaction & (self.offset == nothing)

    @classmethod
    def plain(cls, offset: Offset | Nothing, ends_group: Bool = false) -> Entry:
        """A commit that counts at once; of nothing, a tombstone."""
        return cls(
            offset=offset,
            in_transaction=false,
            producer=cls.blank().producer,
            commits=false,
            ends_group=ends_group,
        )

    @classmethod
    def of_transaction(
        cls, producer: Member, offset: Offset | Nothing, commits: Bool = false
    ) -> Entry:
        """A commit that counts when its marker says so; of nothing, the marker."""
        return cls(
            offset=offset,
            in_transaction=true,
            producer=producer,
            commits=commits,
            ends_group=false,
        )


class Commit(Record):
    """An offset, and where its record stands in the log."""

    offset: Offset | Nothing
    at: LogOffset


class Cache(Record):
    """What a coordinator knows: the log below `loaded`, replayed."""

    committed: Commit
    pending: Map[Member, Commit]
    loaded: LogOffset


class Coordinator(Spec):
    """The log of one group, and whoever serves it."""

    members: Annotated[int, range(1, 10)] = 2
    inputs: Annotated[int, range(1, 10)] = 1  # records of the partition that the group reads
    log_size: Annotated[int, range(1, 20)] = 4

    log: Map[LogOffset, Entry]
    end_offset: LogOffset
    cache: Cache

    def scope(s) -> Scope:
        return {
            Member: s.members,
            Offset: range(s.inputs + 1),
            LogOffset: range(s.log_size + 1),
        }

    # ---- words

    def serves(s) -> Bool:
        return s.cache.loaded == s.end_offset

    def is_pending(s, m: Member) -> Bool:
        return s.cache.pending[m].offset != nothing

    def is_stable(s) -> Bool:
        return forall(~s.is_pending(m) for m in Member)

    # ---- what a record does

    def append(s, entry: Entry) -> None:
        at = s.end_offset
        when(s.serves(), at < s.log_size)
        s.log[at] = entry
        s.end_offset = at + 1
        s.apply(entry, at)

    def apply(s, entry: Entry, at: LogOffset) -> None:
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
        """What stands later in the log counts, whenever its marker comes."""
        later = (committed.offset == nothing) | (committed.at < waiting.at)
        return (waiting.offset != nothing) & later

    # ---- failover

    @action
    def fail_over(s) -> None:
        """Another coordinator takes over, and knows nothing yet."""
        for m in Member:
            s.cache.pending[m] = Commit.blank()
        s.cache.committed = Commit.blank()
        s.cache.loaded = LogOffset(0)

    def read(s, at: LogOffset) -> Entry:
        """What a record of the log means to a coordinator that takes over."""
        return s.log[at]

    @action(fair="weak")
    def load(s) -> None:
        """The new coordinator reads the next record of the log."""
        at = s.cache.loaded
        when(at < s.end_offset)
        s.apply(s.read(at), at)

    # ---- what is claimed

    def stands(s, at: LogOffset) -> Bool:
        """The record is a commit that no later tombstone has dropped."""
        return all_of(
            at < s.end_offset,
            s.log[at].offset != nothing,
            forall(
                implies(all_of(at < x, x < s.end_offset), ~s.log[x].is_tombstone())
                for x in LogOffset
            ),
        )

    def is_open(s, at: LogOffset) -> Bool:
        """No marker follows the commit of a transaction."""
        return forall(implies(all_of(at < x, x < s.end_offset), ~s.ends(x, at)) for x in LogOffset)

    def ends(s, x: LogOffset, at: LogOffset) -> Bool:
        return s.log[x].is_marker() & (s.log[x].producer == s.log[at].producer)

    def counts(s, at: LogOffset) -> Bool:
        """The commit stands outside transactions, or the first marker after it commits."""
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
        """Whoever serves knows the last commit of the log that counts, after failover too."""
        at = last(LogOffset, s.counts, default=LogOffset(0))
        known = ite(s.counts(at), s.log[at].offset, nothing)
        return implies(s.serves(), s.cache.committed.offset == known)

    @invariant
    def pending_is_what_markers_will_decide(s) -> Bool:
        """A commit is pending while it stands in the log and its marker does not."""
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
