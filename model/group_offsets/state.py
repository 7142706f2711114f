"""The state of committed offsets: the coordinator's log and cache, the group, and its consumers.

Source: KIP-98, KIP-447; KIP-211 and KIP-496 on the deletion of offsets; OffsetMetadataManager of
Apache Kafka 4.3.
Simplified: a group reads one partition, so it has one committed offset. A record is committed as
soon as it is appended. The log is not compacted. The members of the group do not change at a
failover.
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
    Set,
    Sort,
    Spec,
    false,
    forall,
    nothing,
    true,
)


class Member(Sort):
    """A consumer with its own transactional producer."""

    prefix = "m"


class Offset(Int):
    """An offset of the partition that the group reads. A committed offset is the offset of the
    next record to read.
    """


class LogOffset(Int):
    """A position in the coordinator's log, or the end of the log."""


class Entry(Record):
    """A record of the coordinator's log. A record whose field `offset` has a value commits this
    offset. Any other record is a marker if it belongs to a transaction, and a tombstone otherwise.
    """

    offset: Offset | Nothing
    in_transaction: Bool
    producer: Member  # the transaction's producer
    commits: Bool  # the record is a COMMIT marker
    ends_group: Bool  # the record is a tombstone of the whole group

    def is_marker(self) -> Bool:
        return self.in_transaction & (self.offset == nothing)

    def is_tombstone(self) -> Bool:
        return ~self.in_transaction & (self.offset == nothing)

    @classmethod
    def plain(cls, offset: Offset | Nothing, ends_group: Bool = false) -> Entry:
        """Returns a commit of `offset` outside transactions. If `offset` is nothing, the record
        is a tombstone. If `ends_group` is true, the tombstone deletes the whole group.
        """
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
        """Returns a record of a transaction of `producer`. It is a commit of `offset`. If `offset`
        is nothing, it is a marker: COMMIT if `commits` is true, and ABORT otherwise.
        """
        return cls(
            offset=offset,
            in_transaction=true,
            producer=producer,
            commits=commits,
            ends_group=false,
        )


class Commit(Record):
    """A committed offset, and the position of its record in the log."""

    offset: Offset | Nothing
    at: LogOffset


class Cache(Record):
    """The coordinator's cache. It contains the effect of all log records below the offset
    `loaded`.
    """

    committed: Commit
    pending: Map[Member, Commit]
    loaded: LogOffset


class Generation(Int):
    """The generation of a group: the number of rebalances that have ended."""


class Group(Record):
    """The state of the group: its generation, the partition's owner, and whether a rebalance is
    under way.
    """

    generation: Generation
    owner: Member | Nothing  # the partition's owner; nothing if the group is empty
    is_rebalancing: Bool


class Consumer(Record):
    """The generation and position that a consumer believes to have, and its open transaction."""

    generation: Generation  # the latest generation that the consumer knows
    reads: Bool  # the consumer believes that it owns the partition
    position: Offset  # the next record that it reads
    written: Set[Offset]  # the inputs whose output is in the open transaction
    sent: Bool  # the consumer has sent its offset in this transaction
    ended: Bool  # the transaction is decided, and its marker is in flight
    committed: Bool  # the decision was to commit


class GroupOffsetsState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    # the number of records in the partition that the group reads
    inputs: Annotated[int, range(1, 10)] = 1
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
        """Returns True if the coordinator has read its whole log, so that it answers requests."""
        return s.cache.loaded == s.end_offset

    def is_pending(s, m: Member) -> Bool:
        return s.cache.pending[m].offset != nothing

    def is_stable(s) -> Bool:
        return forall(~s.is_pending(m) for m in Member)
