"""The state of committed offsets: the coordinator's log and cache, the group, and its consumers.

Source: KIP-98, KIP-447; KIP-211 and KIP-496 on the deletion of offsets; OffsetMetadataManager of
Apache Kafka 4.3.
Simplified: a record is committed as soon as it is appended. Each commit request has one partition.
The log is not compacted. The members of the group do not change at a failover.
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
    all_of,
    exists,
    false,
    forall,
    nothing,
    true,
)


class Member(Sort):
    """A consumer with its own transactional producer."""

    prefix = "m"


class TopicPartition(Sort):
    """A partition of a topic that the group reads."""


class Offset(Int):
    """An offset of a partition that the group reads. A committed offset is the offset of the next
    record to read.
    """


class LogOffset(Int):
    """A position in the coordinator's log, or the end of the log."""


class Entry(Record):
    """A record of the coordinator's log. A record whose field `offset` has a value commits this
    offset. Any other record is a marker if it belongs to a transaction, and a tombstone otherwise.
    """

    partition: TopicPartition  # a marker, or the tombstone of a group, has the first partition
    offset: Offset | Nothing
    in_transaction: Bool
    producer: Member  # the transaction's producer
    commits: Bool  # the record is a COMMIT marker
    ends_group: Bool  # the record is a tombstone of the whole group

    def is_marker(self) -> Bool:
        return self.in_transaction & (self.offset == nothing)

    def is_tombstone(self) -> Bool:
        return ~self.in_transaction & (self.offset == nothing)

    def deletes(self, p: TopicPartition) -> Bool:
        """Returns True if the record is a tombstone of the partition `p` or of the whole group."""
        return self.is_tombstone() & (self.ends_group | (self.partition == p))

    @classmethod
    def plain(
        cls, p: TopicPartition, offset: Offset | Nothing, *, ends_group: Bool = false
    ) -> Entry:
        """Returns a commit of `offset` outside transactions. If `offset` is nothing, the record is
        a tombstone: of the whole group if `ends_group` is true, and of the partition `p` otherwise.
        """
        return cls(
            partition=p,
            offset=offset,
            in_transaction=false,
            producer=cls.blank().producer,
            commits=false,
            ends_group=ends_group,
        )

    @classmethod
    def end_of_group(cls) -> Entry:
        """Returns the tombstone of the whole group."""
        return cls.plain(cls.blank().partition, nothing, ends_group=true)

    @classmethod
    def of_transaction(
        cls, producer: Member, p: TopicPartition, offset: Offset | Nothing, *, commits: Bool = false
    ) -> Entry:
        """Returns a commit of `offset` in a transaction of `producer`. If `offset` is nothing, the
        record is the transaction's marker: COMMIT if `commits` is true, and ABORT otherwise.
        """
        return cls(
            partition=p,
            offset=offset,
            in_transaction=true,
            producer=producer,
            commits=commits,
            ends_group=false,
        )

    @classmethod
    def marker(cls, producer: Member, commits: Bool) -> Entry:
        """Returns the marker of a transaction of `producer`: COMMIT if `commits` is true, and ABORT
        otherwise.
        """
        return cls.of_transaction(producer, cls.blank().partition, nothing, commits=commits)


class Commit(Record):
    """A committed offset, and the position of its record in the log."""

    offset: Offset | Nothing
    at: LogOffset


class Cache(Record):
    """The coordinator's cache. It contains the effect of all log records below the offset
    `loaded`.
    """

    committed: Map[TopicPartition, Commit]
    pending: Map[Member, Map[TopicPartition, Commit]]
    loaded: LogOffset


class Generation(Int):
    """The generation of a group: the number of rebalances that have ended."""


class Group(Record):
    """The state of the group: its generation, the partitions' owners, and whether a rebalance is
    under way.
    """

    generation: Generation
    owner: Map[TopicPartition, Member | Nothing]  # nothing if the group is empty
    is_rebalancing: Bool


class Consumer(Record):
    """The generation and the positions of a consumer, as the consumer knows them, and its open
    transaction.
    """

    generation: Generation  # the latest generation that the consumer knows
    reads: Set[TopicPartition]  # the consumer believes that it owns these partitions
    position: Map[TopicPartition, Offset]  # the next record that it reads
    # the inputs whose output is in the open transaction
    written: Map[TopicPartition, Set[Offset]]
    sent: Set[TopicPartition]  # the consumer has sent its offset in this transaction
    ended: Bool  # the transaction is decided, and its marker is in flight
    committed: Bool  # the decision was to commit


class GroupOffsetsState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    # the number of records in each partition that the group reads
    inputs: Annotated[int, range(1, 10)] = 1
    log_size: Annotated[int, range(1, 20)] = 4
    generations: Annotated[int, range(1, 10)] = 2

    log: Map[LogOffset, Entry]
    end_offset: LogOffset
    cache: Cache

    group: Group
    consumer: Map[Member, Consumer]
    # history variables, which only the claims read
    output: Map[TopicPartition, Set[Offset]]  # inputs whose output is committed
    repeated: Map[TopicPartition, Set[Offset]]  # inputs whose output is committed more than once
    # an operator, expiry or group deletion made the group read inputs of these partitions again
    was_reset: Set[TopicPartition]

    def scope(s) -> Scope:
        return {
            Member: s.members,
            TopicPartition: s.partitions,
            Offset: range(s.inputs + 1),
            LogOffset: range(s.log_size + 1),
            Generation: range(s.generations + 1),
        }

    def serves(s) -> Bool:
        """Returns True if the coordinator has read its whole log, so that it answers requests."""
        return s.cache.loaded == s.end_offset

    def is_pending(s, m: Member, p: TopicPartition) -> Bool:
        return s.cache.pending[m][p].offset != nothing

    def is_stable(s, p: TopicPartition) -> Bool:
        """Returns True if no commit of the partition `p` is pending."""
        return forall(~s.is_pending(m, p) for m in Member)

    def is_empty(s) -> Bool:
        return all_of(
            ~exists(s.group.owner[p] != nothing for p in TopicPartition),
            ~s.group.is_rebalancing,
        )
