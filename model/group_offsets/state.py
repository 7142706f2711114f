"""DOC group_offsets state"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    false,
    forall,
    nothing,
    true,
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


class Generation(Int):
    """Counts the assignments of a group."""


class Group(Record):
    """What the coordinator knows of its members."""

    generation: Generation
    owner: Member | Nothing  # of the partition; nobody: the group is empty
    is_rebalancing: Bool


class Consumer(Record):
    """What a member knows of itself."""

    generation: Generation  # the latest that it has heard of
    reads: Bool  # the partition, which it believes to own
    position: Offset  # the next record that it reads
    written: Set[Offset]  # inputs whose output its open transaction has
    sent: Bool  # its offset, in this transaction
    ended: Bool  # the transaction is decided, its marker on the way
    committed: Bool  # by that decision


class GroupOffsetsState(Spec):
    """DOC GroupOffsetsState"""

    members: Annotated[int, range(1, 10)] = 2
    inputs: Annotated[int, range(1, 10)] = 1  # records of the partition that the group reads
    log_size: Annotated[int, range(1, 20)] = 4
    generations: Annotated[int, range(1, 10)] = 2

    log: Map[LogOffset, Entry]
    end_offset: LogOffset
    cache: Cache

    group: Group
    consumer: Map[Member, Consumer]
    # history variables, which only the claims read
    output: Set[Offset]  # inputs whose output is committed
    repeated: Set[Offset]  # inputs whose output is committed more than once
    was_reset: Bool  # an operator, expiry or group deletion made the group read inputs again

    def scope(s) -> Scope:
        return {
            Member: s.members,
            Offset: range(s.inputs + 1),
            LogOffset: range(s.log_size + 1),
            Generation: range(s.generations + 1),
        }

    def serves(s) -> Bool:
        return s.cache.loaded == s.end_offset

    def is_pending(s, m: Member) -> Bool:
        return s.cache.pending[m].offset != nothing

    def is_stable(s) -> Bool:
        return forall(~s.is_pending(m) for m in Member)
