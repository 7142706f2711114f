"""The state of transactions: clients, the coordinator with its log, and the logs of partitions.

The transactional id has several *instances*: clients that replace each other. An instance that was
replaced, but does not know this, is a zombie. Transactions are numbered in the order in which they
begin. Requests do not contain the number of a transaction. They contain only a producer id and an
epoch.

When the leader of a partition changes, the partition retains the records below its high watermark,
and may lose the other records. `properties/refinement` checks that the spec `replication`
guarantees this.

Source: KIP-98; KIP-890; TransactionMetadata, ProducerStateManager of Apache Kafka.
Simplified: the coordinator's log consists of its latest appended record and its latest committed
record. A new leader of a partition retains its predecessor's high watermark.
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
    """A transaction of a client. Transactions are numbered from 0, in the order of their begin."""


class Instance(Int):
    """A client with the transactional id. An instance with a larger number was started later, and
    replaces the earlier instances.
    """


class ProducerId(Int):
    pass


class ProducerEpoch(Int):
    """The producer epoch. The constant `max_epoch` of the spec stands for the largest epoch of
    Kafka, 32767.
    """


class CoordinatorEpoch(Int):
    """The epoch of the coordinator. It is the leader epoch of the coordinator's log."""


class LeaderEpoch(Int):
    """The leader epoch of a partition: the number of its leader changes."""


class Offset(Int):
    """A position in a partition's log, or the end of the log."""


class Outcome(Int):
    """Commit or abort. A client's request, a coordinator's decision and a marker each have an
    outcome.
    """

    labels = ("COMMIT", "ABORT")


class TransactionState(Int):
    """The state of the transactional id in the coordinator's metadata.

    DEAD also stands for an unknown transactional id. PREPARE with an outcome is Kafka's
    PREPARE_COMMIT or PREPARE_ABORT, and COMPLETE with an outcome is Kafka's COMPLETE_COMMIT or
    COMPLETE_ABORT.
    """

    labels = ("DEAD", "EMPTY", "ONGOING", "PREPARE", "COMPLETE")


class Error(Int):
    """An error that a client receives. Every error is fatal, so a client that receives an error
    closes.
    """

    labels = ("FENCED", "INVALID_TXN_STATE")


COMMIT, ABORT = map(Outcome, range(2))
DEAD, EMPTY, ONGOING, PREPARE, COMPLETE = map(TransactionState, range(5))
FENCED, INVALID_TXN_STATE = map(Error, range(2))


class Stamp(Record):
    """The producer id and epoch that a request or a record carries."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


class Producer(Record):
    """The producer id and epoch that an instance has received from the coordinator, and the error
    that it has received, if any.
    """

    producer_id: ProducerId | Nothing  # nothing until InitProducerId is answered
    producer_epoch: ProducerEpoch
    error: Error | Nothing


class Metadata(Record):
    """A record of the coordinator's log. It contains the metadata of the transactional id."""

    state: TransactionState
    outcome: Outcome  # unused before PREPARE
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    previous_id: ProducerId  # in COMPLETE: the producer id of the decision
    next_id: ProducerId  # in PREPARE: another id if no epoch of `producer_id` remains
    transaction: Transaction  # the open transaction's number, which no coordinator knows
    partitions: Set[TopicPartition]


class TransactionStateLog(Record):
    """The `__transaction_state` log. It consists of its latest appended record and its latest
    committed record. Both are equal if no append is pending.
    """

    appended: Metadata
    committed: Metadata


class LogRecord(Record):
    """A record of a partition's log. It is a marker if `outcome` is set, and a client's record
    otherwise.
    """

    outcome: Outcome | Nothing
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: CoordinatorEpoch  # of a marker's coordinator
    first_offset: Offset  # of an abort marker: its first aborted record; else: its own offset
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
    max_epoch: Annotated[int, range(1, 20)] = 2  # clients receive at most `max_epoch - 1`

    # faults: how many may happen, or whether they may
    coordinator_failures: Annotated[int, range(5)] = 1
    leader_changes: Annotated[int, range(5)] = 1  # the number per partition
    replication_lags: bool = True  # if false, an appended record is committed at once
    records_late: bool = True  # a record may arrive after its client has gone on
    ends_late: bool = True  # a request to end a transaction may arrive late, too
    markers_late: bool = True  # a marker may arrive again, or from a failed coordinator
    ids_expire: bool = True  # an unused transactional id expires

    # clients
    producer: Map[Instance, Producer]
    owner: Map[Transaction, Instance | Nothing]  # nothing until the transaction begins
    stamp: Map[Transaction, Stamp]
    sent: Map[Transaction, Set[TopicPartition]]
    requested: Map[Transaction, Outcome | Nothing]  # what the client has requested
    end_confirmed: Set[Transaction]  # the client knows that its request succeeded

    # the coordinator
    coordinator_epoch: CoordinatorEpoch
    transaction_state: TransactionStateLog
    metadata: Metadata  # in the coordinator's memory, from which it answers
    answering: Instance | Nothing  # its InitProducerId is answered when the append is committed
    next_producer_id: ProducerId

    # decisions, and their markers
    decided: Map[Transaction, Outcome | Nothing]
    addressed: Map[Transaction, Set[TopicPartition]]  # the partitions of its markers
    marker_stamp: Map[Transaction, Stamp]
    marker_sent: Map[Transaction, Set[CoordinatorEpoch]]

    # partitions
    log: Map[TopicPartition, Log]
    leader_epoch: Map[TopicPartition, LeaderEpoch]
    verified: Map[Transaction, Set[TopicPartition]]  # the partition's leader has verified it

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
        """Returns True if the transaction has the producer id and the producer epoch that the
        coordinator's metadata has.
        """
        return s.is_stamped(k, s.metadata.producer_id, s.metadata.producer_epoch)

    def is_waiting(s, k: Transaction) -> Bool:
        """Returns True if the transaction has begun, and its client has neither requested to end
        the transaction nor received an error.
        """
        return all_of(
            s.requested[k] == nothing,
            exists((s.owner[k] == i) & (s.producer[i].error == nothing) for i in Instance),
        )
