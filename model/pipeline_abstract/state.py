"""The state of the spec `pipeline-abstract`: a group, transactional ids, the output, and instances.

An *instance* is one run of the application. It reads an input partition, writes an output record
for each input, and commits its position with these records in one transaction.

A crashed instance takes no further step. A process that restarts is another instance, and may use
the same transactional id.

A transactional id has one transaction at a time. So each variable of a transaction is a map from
transactional ids.

Source: KIP-98, KIP-447; TransactionManager, TransactionCoordinator and OffsetMetadataManager of
Kafka 4.3.
Simplified: the output is one partition; the spec `transactions-abstract` proves that several
partitions agree. A request arrives immediately or never, and an instance learns of an abort at
once; only the versions `with-late-requests` and `with-failover` have late requests. A group has
generations; the member epochs of KIP-848 are left out. All offsets are committed in transactions,
and no offset is reset, expired or deleted.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    any_of,
    exists,
    ite,
)


class Instance(Sort):
    """One run of the application: a consumer and its transactional producer."""


class TransactionalId(Sort):
    """A transactional id. It has one transaction at a time, so it also identifies its open
    transaction or, if none is open, its latest transaction.
    """

    prefix = "id"


class TopicPartition(Sort):
    """A partition of the input."""


class Offset(Ordered):
    """An offset of an input partition. A position is the offset of the next input to read."""


class Generation(Ordered):
    """A generation of the consumer group."""


class PipelineState(Spec):
    instances: Annotated[int, range(1, 10)] = 2
    transactional_ids: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    offsets: Annotated[int, range(2, 10)] = 2
    generations: Annotated[int, range(1, 10)] = 2

    # the group coordinator
    generation: Generation
    owner: Map[Generation, Map[TopicPartition, Instance | Nothing]]
    committed_offset: Map[TopicPartition, Offset]
    pending: Map[TransactionalId, Set[TopicPartition]]  # an offset of it awaits the marker
    pending_offset: Map[TransactionalId, Map[TopicPartition, Offset]]

    # the transaction coordinator
    committed: Set[TransactionalId]  # decided as COMMIT, and not complete
    aborted: Set[TransactionalId]  # decided as ABORT, and not complete
    output_marked: Set[TransactionalId]  # the output has the marker
    offsets_marked: Set[TransactionalId]  # the group coordinator has the marker

    # the output, by the input of each record
    written: Map[TransactionalId, Map[TopicPartition, Set[Offset]]]  # outputs that await the marker
    doubled: Map[TransactionalId, Map[TopicPartition, Set[Offset]]]  # of these, written twice
    received: Map[TopicPartition, Set[Offset]]  # outputs that a read_committed reader receives
    repeated: Map[TopicPartition, Set[Offset]]  # of these, received twice

    # the instances
    uses: Map[Instance, TransactionalId | Nothing]  # initialized by it; it may be fenced since
    known_generation: Map[Instance, Generation]
    reads: Map[Instance, Set[TopicPartition]]  # it believes that it owns them
    position: Map[Instance, Map[TopicPartition, Offset]]

    def scope(s) -> Scope:
        return {
            Instance: s.instances,
            TransactionalId: s.transactional_ids,
            TopicPartition: s.partitions,
            Offset: s.offsets,
            Generation: s.generations,
        }

    # ---- predicates

    def is_decided(s, x: TransactionalId) -> Bool:
        return s.committed[x] | s.aborted[x]

    def has_content(s, x: TransactionalId) -> Bool:
        """Returns True if an output record or an offset of the transaction awaits a marker."""
        return any_of(
            exists(s.pending[x][p] for p in TopicPartition),
            exists(s.written[x][p][o] for p in TopicPartition for o in Offset),
        )

    def is_open(s, x: TransactionalId) -> Bool:
        return s.has_content(x) & ~s.is_decided(x)

    # ---- what a marker changes

    def deliver(s, x: TransactionalId, commits: Bool) -> None:
        """If `commits` is true, a reader receives the output records of `x` that await a marker. In
        both cases, these records await no marker any more.
        """
        for p in TopicPartition:
            for o in Offset:
                delivered = s.written[x][p][o] & commits
                is_second = s.received[p][o] | s.doubled[x][p][o]
                s.repeated[p][o] = s.repeated[p][o] | delivered & is_second
                s.received[p][o] = s.received[p][o] | delivered
                s.written[x][p][o] = False
                s.doubled[x][p][o] = False

    def settle_offsets(s, x: TransactionalId, commits: Bool) -> None:
        """If `commits` is true, the pending offsets of `x` become the committed offsets. In both
        cases, these offsets are not pending any more.
        """
        for p in TopicPartition:
            s.committed_offset[p] = ite(
                s.pending[x][p] & commits, s.pending_offset[x][p], s.committed_offset[p]
            )
            s.pending[x][p] = False
            s.pending_offset[x][p] = Offset.least()

    def forget_decision(s, x: TransactionalId) -> None:
        s.committed[x] = False
        s.aborted[x] = False
        s.output_marked[x] = False
        s.offsets_marked[x] = False
