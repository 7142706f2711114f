"""The state of the spec `coordinator-abstract`: clients, the coordinator's log, and partitions.

A request carries a *stamp*: a transactional id, a producer id and a producer epoch. In Kafka, only
stamps distinguish the transactions of a producer. The spec also numbers the transactions, but no
request carries the number.

Source: KIP-98; KIP-890 part 2; KIP-1228; TransactionMetadata of Apache Kafka 4.3.
Simplified:
- All transactional ids are in one partition of `__transaction_state`, and the log of this partition
  stores only the newest records of each transactional id.
- The coordinator's memory equals these records. In Kafka, the memory changes when an append is
  committed.
- The record of a commit or abort already has the producer id of the next transaction.
- The next epoch is any larger epoch.
- Only the spec's version `kip-360` has an expected producer id and epoch in InitProducerId.
- Only the spec's version `kip-890-part-1` has transaction version 1. Only there, partitions verify
  transactions.
- Only the spec's version `kip-939` has two-phase commit.
- Partitions lose no records.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    all_of,
    exists,
)


class TransactionalId(Sort):
    """A transactional id. All instances of a producer use the same transactional id."""

    prefix = "id"


class Instance(Sort):
    """A client of a transactional id. Another instance with the same transactional id may replace
    this instance.
    """


class Transaction(Sort):
    """A transaction that an instance of a producer begins."""

    prefix = "x"


class TopicPartition(Sort):
    """A partition. For each producer id, it stores the largest producer epoch that it has seen, and
    the largest coordinator epoch of its markers.
    """


class ProducerId(Sort):
    """A producer id. When its epochs run out, the transactional id gets another producer id."""

    prefix = "pid"


class ProducerEpoch(Ordered):
    """The producer epoch, which fences late requests."""


class CoordinatorEpoch(Ordered):
    """The coordinator's epoch: the leader epoch of its log."""


class Stamp(Record):
    """A transactional id, a producer id and a producer epoch: the contents of a request."""

    transactional_id: TransactionalId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch


class Metadata(Record):
    """A record of the coordinator's log: the transaction metadata of a transactional id.

    If a transactional id is in Kafka's state Empty, `is_known` is true, and `is_ongoing`,
    `is_prepared` and `is_complete` are false.
    """

    is_known: Bool  # false: there is no record yet, or a tombstone
    is_ongoing: Bool
    is_prepared: Bool  # PrepareCommit or PrepareAbort
    is_complete: Bool  # CompleteCommit or CompleteAbort
    commits: Bool  # the outcome of a decision
    producer_id: ProducerId  # for the next request
    producer_epoch: ProducerEpoch
    transaction: Transaction  # the ongoing one, or the last one
    partitions: Set[TopicPartition]
    last_id: ProducerId  # before the decision, and in its markers
    last_epoch: ProducerEpoch  # before the decision
    marker_epoch: ProducerEpoch


class AbstractCoordinatorState(Spec):
    transactional_ids: Annotated[int, range(1, 10)] = 1
    instances: Annotated[int, range(1, 10)] = 1
    transactions: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    producer_ids: Annotated[int, range(1, 10)] = 2
    producer_epochs: Annotated[int, range(1, 10)] = 3
    coordinator_epochs: Annotated[int, range(1, 10)] = 2

    last_epoch: ProducerEpoch  # only markers carry it; never changes (Kafka: 32767)

    # clients
    is_ready: Set[Instance]  # it has received a stamp
    held: Map[Instance, Stamp]  # the last stamp that it has received
    begun: Set[Transaction]
    client: Map[Transaction, Instance]
    stamp: Map[Transaction, Stamp]
    commit_requested: Set[Transaction]
    abort_requested: Set[Transaction]
    confirmed: Set[Transaction]  # its client has the response to its request

    # the coordinator
    coordinator_epoch: CoordinatorEpoch
    log: Map[TransactionalId, Metadata]  # the last committed record
    appended: Map[TransactionalId, Metadata]  # the last record, committed or not
    is_appending: Set[TransactionalId]  # the last record is not committed
    answering: Map[TransactionalId, Instance | Nothing]  # whose InitProducerId waits for it
    assigned: Map[ProducerId, TransactionalId | Nothing]

    # what the log has confirmed or decided until now
    added: Map[Transaction, Set[TopicPartition]]
    committed: Set[Transaction]
    aborted: Set[Transaction]
    marker_epoch: Map[Transaction, ProducerEpoch]  # carried by its markers

    # partitions
    seen_epoch: Map[TopicPartition, Map[ProducerId, ProducerEpoch]]
    seen_coordinator: Map[TopicPartition, Map[ProducerId, CoordinatorEpoch]]  # by its markers
    marked: Map[Transaction, Set[TopicPartition]]
    pending: Map[Transaction, Set[TopicPartition]]  # has records there, without a marker yet
    kept: Map[Transaction, Set[TopicPartition]]  # committed there by a marker
    dropped: Map[Transaction, Set[TopicPartition]]  # aborted there by a marker

    def scope(s) -> Scope:
        return {
            TransactionalId: s.transactional_ids,
            Instance: s.instances,
            Transaction: s.transactions,
            TopicPartition: s.partitions,
            ProducerId: s.producer_ids,
            ProducerEpoch: s.producer_epochs,
            CoordinatorEpoch: s.coordinator_epochs,
        }

    def init(s, last: ProducerEpoch) -> None:
        """Initially no instance has a producer id, and the logs are empty. The largest possible
        epoch, `last`, may be any epoch.
        """
        s.last_epoch = last

    # ---- predicates

    def metadata_of(s, x: Transaction) -> Metadata:
        return s.log[s.stamp[x].transactional_id]

    def decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def has_decision(s, m: Metadata) -> Bool:
        return m.is_prepared | m.is_complete

    def is_current(s, x: Transaction) -> Bool:
        """Returns True if the newest committed record of the transactional id has the producer id
        and epoch of the transaction `x`.

        Without the comparison of epochs, the claim `the_client_decides` breaks (bug
        `ignores-epoch`, 11 steps).
        """
        m = s.metadata_of(x)
        return all_of(
            m.is_known,
            m.producer_id == s.stamp[x].producer_id,
            m.producer_epoch == s.stamp[x].producer_epoch,
        )

    def is_decided_under(s, m: Metadata, x: Transaction) -> Bool:
        """Returns True if the record `m` commits or aborts a transaction that has the producer id
        and epoch of `x`.
        """
        return all_of(
            s.has_decision(m),
            m.last_id == s.stamp[x].producer_id,
            m.last_epoch == s.stamp[x].producer_epoch,
        )

    def id_in_markers(s, m: Metadata) -> ProducerId:
        return m.last_id

    def is_exhausted(s, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if an instance with the epoch `producer_epoch` needs another producer id,
        because no instance may receive a larger epoch.

        The largest epoch, `last_epoch`, is for markers only.
        """
        return ~exists((producer_epoch < e) & (e < s.last_epoch) for e in ProducerEpoch)
