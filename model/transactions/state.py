"""The state of transactions: clients, the coordinator with its log, and the logs of partitions.

The transactional id has several *instances*: clients that replace each other. A replaced instance
that does not know this is a zombie. Transactions are numbered as they begin. Requests carry no such
number, only a producer id and an epoch.

When its leader changes, a partition keeps the records below its high watermark, and may lose the
others; `properties/refinement` checks this of the spec `replication`.

Source: KIP-98; KIP-890; TransactionMetadata, ProducerStateManager of Apache Kafka.
Simplified: the coordinator's log is its last appended and its last committed record. A new leader
of a partition keeps its predecessor's high watermark.
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
    forall,
    implies,
    nothing,
)
from model.variants import Constants

QUIET: Constants = {  # no faults; a variant adds the fault that its counterexample needs
    "coordinator_failures": 0,
    "leader_changes": 0,
    "replication_lags": False,
    "records_late": False,
    "ends_late": False,
    "markers_late": False,
    "ids_expire": False,
}


class TopicPartition(Sort):
    """A partition with a log and a leader."""

    prefix = "p"


class Transaction(Int):
    """A transaction of a client, numbered from 0."""


class Instance(Int):
    """A client of the transactional id; an instance with a larger number was started later."""


class ProducerId(Int):
    pass


class ProducerEpoch(Int):
    """The producer epoch; the largest value stands for 32767."""


class CoordinatorEpoch(Int):
    """The coordinator's epoch: the leader epoch of its log."""


class LeaderEpoch(Int):
    """The leader epoch of a partition: the number of its leader changes."""


class Offset(Int):
    """A position in a partition's log, or the end of the log."""


class Outcome(Int):
    """Commit or abort: in a client's request, a coordinator's decision, or a marker."""

    labels = ("COMMIT", "ABORT")


class TransactionState(Int):
    """The coordinator's state of the transactional id.

    DEAD also stands for an unknown transactional id. PREPARE with an outcome is Kafka's
    PREPARE_COMMIT or PREPARE_ABORT, and COMPLETE with an outcome is COMPLETE_COMMIT or
    COMPLETE_ABORT.
    """

    labels = ("DEAD", "EMPTY", "ONGOING", "PREPARE", "COMPLETE")


class Error(Int):
    """An error that a client receives; every error is fatal, so the client closes."""

    labels = ("FENCED", "INVALID_TXN_STATE")


COMMIT, ABORT = map(Outcome, range(2))
DEAD, EMPTY, ONGOING, PREPARE, COMPLETE = map(TransactionState, range(5))
FENCED, INVALID_TXN_STATE = map(Error, range(2))


class Stamp(Record):
    """The producer id and epoch that a request or a record carries."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


class Producer(Record):
    """The producer id and epoch that an instance has received, and its error."""

    producer_id: ProducerId | Nothing  # nothing until InitProducerId is answered
    producer_epoch: ProducerEpoch
    error: Error | Nothing


class Metadata(Record):
    """A record of the coordinator's log: the transaction metadata of the transactional id."""

    state: TransactionState
    outcome: Outcome  # unused before PREPARE
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    previous_id: ProducerId  # in COMPLETE: the producer id of the decision
    next_id: ProducerId  # in PREPARE: another id if the epochs of this one are used up
    transaction: Transaction  # the open transaction's number, which no coordinator knows
    partitions: Set[TopicPartition]


class TransactionStateLog(Record):
    """The `__transaction_state` log: its last appended and its last committed record."""

    appended: Metadata
    committed: Metadata


class LogRecord(Record):
    """A record of a partition's log: a client's record, or a marker if `outcome` is set."""

    outcome: Outcome | Nothing
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: CoordinatorEpoch  # of a marker's coordinator
    first_offset: Offset  # an abort marker's first aborted record; else its own offset
    transaction: Transaction  # the record's transaction, or the marker's


class Log(Record):
    """A partition's log: its records, its end offset and its high watermark."""

    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, LogRecord]


class State(Spec):
    instances: Annotated[int, range(1, 5)] = 1
    transactions: Annotated[int, range(1, 5)] = 2
    partitions: Annotated[int, range(1, 4)] = 1
    producer_ids: Annotated[int, range(1, 9)] = 4
    max_epoch: Annotated[int, range(1, 20)] = 2  # the largest; clients get at most one less

    # faults: how many may happen, or whether they may
    coordinator_failures: Annotated[int, range(5)] = 1
    leader_changes: Annotated[int, range(5)] = 1  # of each partition
    replication_lags: bool = True  # false: an appended record is committed at once
    records_late: bool = True  # a record may arrive after its client has gone on
    ends_late: bool = True  # so may a request to end a transaction
    markers_late: bool = True  # a marker may arrive again, or from a failed coordinator
    ids_expire: bool = True  # an unused transactional id expires

    # clients
    producer: Map[Instance, Producer]
    owner: Map[Transaction, Instance | Nothing]  # nothing until it begins
    stamp: Map[Transaction, Stamp]
    sent: Map[Transaction, Set[TopicPartition]]
    requested: Map[Transaction, Outcome | Nothing]  # its client's request
    end_confirmed: Set[Transaction]  # the request succeeded, and the client knows

    # the coordinator
    coordinator_epoch: CoordinatorEpoch
    transaction_state: TransactionStateLog
    metadata: Metadata  # the coordinator answers from it
    answering: Instance | Nothing  # whose InitProducerId waits for the append
    next_producer_id: ProducerId

    # decisions, and their markers
    decided: Map[Transaction, Outcome | Nothing]
    addressed: Map[Transaction, Set[TopicPartition]]  # the partitions of its markers
    marker_stamp: Map[Transaction, Stamp]
    marker_sent: Map[Transaction, Set[CoordinatorEpoch]]

    # partitions
    log: Map[TopicPartition, Log]
    leader_epoch: Map[TopicPartition, LeaderEpoch]
    verified: Map[Transaction, Set[TopicPartition]]  # its leader may append under the guard

    def scope(s) -> Scope:
        markers = (s.coordinator_failures + 1) * (1 + s.markers_late)
        return {
            TopicPartition: s.partitions,
            Transaction: s.transactions,
            Instance: s.instances,
            ProducerId: s.producer_ids + 1,
            ProducerEpoch: s.max_epoch + 2,
            CoordinatorEpoch: s.coordinator_failures + 1,
            Offset: s.transactions * (1 + markers) + 1,
            Outcome: 2,
            TransactionState: 5,
            Error: 2,
            LeaderEpoch: s.leader_changes + 1,
        }

    def init(s) -> None: ...

    def is_next(s, k: Transaction) -> Bool:
        earlier = forall(implies(j < k, s.owner[j] != nothing) for j in Transaction)
        return (s.owner[k] == nothing) & earlier

    def is_stamped(s, k: Transaction, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        stamp = s.stamp[k]
        return (stamp.producer_id == i) & (stamp.producer_epoch == producer_epoch)

    def is_current(s, k: Transaction) -> Bool:
        """True if the coordinator's metadata has the producer id and the producer epoch of the
        transaction.
        """
        return s.is_stamped(k, s.metadata.producer_id, s.metadata.producer_epoch)

    def is_waiting(s, k: Transaction) -> Bool:
        """True if the transaction is open and its client has neither asked to end it nor received
        an error.
        """
        return all_of(
            s.requested[k] == nothing,
            exists((s.owner[k] == i) & (s.producer[i].error == nothing) for i in Instance),
        )
