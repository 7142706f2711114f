"""What transactions are made of: clients, the coordinator and its log, partitions and their logs.

One transactional id, whose *instances* are clients that replace each other; one that was replaced
and does not know is a zombie. Their transactions are numbered in the order in which they begin:
the number is what the spec knows and no request carries. Requests name a producer id and an epoch.

What a log has below its high watermark is kept by every leader to come; what is above may be lost.
That is all that is asked of replication: `properties/refinement.py` shows that it gives it.

Source: KIP-98; KIP-890; TransactionMetadata, ProducerStateManager of Apache Kafka.
Simplified: the log of the coordinator is known by its last record, appended and committed: it has
one transactional id. A new leader of a partition keeps its predecessor's high watermark.
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
    """Keeps records in a log, and has a leader."""

    prefix = "p"


class Transaction(Int):
    """A transaction as its client sees it, numbered from 0."""


class Instance(Int):
    """A client of the transactional id; a larger one was started later."""


class ProducerId(Int):
    """Names the producer in requests and in records."""


class ProducerEpoch(Int):
    """Fences requests of the past; the largest plays 32767."""


class CoordinatorEpoch(Int):
    """The leader epoch of the coordinator's log."""


class LeaderEpoch(Int):
    """Counts the leaders of a partition."""


class Offset(Int):
    """A position in a partition's log, or the end of one."""


class Outcome(Int):
    """What a client asks for, a coordinator decides, a marker says."""

    labels = ("COMMIT", "ABORT")


class TransactionState(Int):
    """Where the coordinator is with a transactional id; with its outcome, as Kafka names them."""

    labels = ("DEAD", "EMPTY", "ONGOING", "PREPARE", "COMPLETE")


class Error(Int):
    """What makes an instance give up."""

    labels = ("FENCED", "INVALID_TXN_STATE")


COMMIT, ABORT = map(Outcome, range(2))
DEAD, EMPTY, ONGOING, PREPARE, COMPLETE = map(TransactionState, range(5))
FENCED, INVALID_TXN_STATE = map(Error, range(2))


class Stamp(Record):
    """What a request or a record says of who sent it."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch


class Producer(Record):
    """What an instance knows of itself."""

    producer_id: ProducerId | Nothing  # nothing before InitProducerId is answered
    producer_epoch: ProducerEpoch
    error: Error | Nothing


class Metadata(Record):
    """A record of the coordinator's log: all there is to know of the transactional id."""

    state: TransactionState
    outcome: Outcome  # without meaning before PREPARE
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    previous_id: ProducerId  # after COMPLETE: under which it was decided
    next_id: ProducerId  # in PREPARE: another, if the epochs of this one have run out
    transaction: Transaction  # that it was opened for: the spec knows it, no coordinator does
    partitions: Set[TopicPartition]


class TransactionStateLog(Record):
    """The coordinator's log, by its last record: as far as it is appended, and committed."""

    appended: Metadata
    committed: Metadata


class LogRecord(Record):
    """A record of a client, or with an outcome a marker."""

    outcome: Outcome | Nothing
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: CoordinatorEpoch  # of a marker
    first_offset: Offset  # of what a marker aborts, an entry of the index; else its own offset
    transaction: Transaction  # that it was sent in, or decided for


class Log(Record):
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, LogRecord]


class State(Spec):
    """The variables of transactions, and what bounds them."""

    instances: Annotated[int, range(1, 5)] = 1
    transactions: Annotated[int, range(1, 5)] = 2
    partitions: Annotated[int, range(1, 4)] = 1
    producer_ids: Annotated[int, range(1, 9)] = 4
    max_epoch: Annotated[int, range(1, 20)] = 2  # the last that is handed out is one less

    # faults: how many, or whether
    coordinator_failures: Annotated[int, range(5)] = 1
    leader_changes: Annotated[int, range(5)] = 1  # of each partition
    replication_lags: bool = True  # else a record is committed when it is appended
    records_late: bool = True  # a record may come when its client waits no more
    ends_late: bool = True  # so may a request to end a transaction
    markers_late: bool = True  # a marker may come again, or from a coordinator that has failed
    ids_expire: bool = True  # a transactional id that is not used is forgotten

    # clients
    producer: Map[Instance, Producer]
    owner: Map[Transaction, Instance | Nothing]  # nothing before it begins
    stamp: Map[Transaction, Stamp]
    sent: Map[Transaction, Set[TopicPartition]]
    requested: Map[Transaction, Outcome | Nothing]  # what its client asked for
    end_confirmed: Set[Transaction]  # the client knows that it is so

    # the coordinator
    coordinator_epoch: CoordinatorEpoch
    transaction_state: TransactionStateLog
    metadata: Metadata  # what it answers from
    answering: Instance | Nothing  # whose InitProducerId waits for the append
    next_producer_id: ProducerId

    # decisions, and the markers that tell of them
    decided: Map[Transaction, Outcome | Nothing]
    addressed: Map[Transaction, Set[TopicPartition]]  # where its markers go
    marker_stamp: Map[Transaction, Stamp]
    marker_sent: Map[Transaction, Set[CoordinatorEpoch]]

    # partitions
    log: Map[TopicPartition, Log]
    leader_epoch: Map[TopicPartition, LeaderEpoch]
    verified: Map[Transaction, Set[TopicPartition]]  # its leader may append, by the same guard

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

    def init(s) -> None:
        """No client has come, and every log is empty."""

    # ---- words of many rooms

    def is_next(s, k: Transaction) -> Bool:
        """The transaction has not begun, and every smaller one has."""
        earlier = forall(implies(j < k, s.owner[j] != nothing) for j in Transaction)
        return (s.owner[k] == nothing) & earlier

    def is_stamped(s, k: Transaction, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        stamp = s.stamp[k]
        return (stamp.producer_id == i) & (stamp.producer_epoch == producer_epoch)

    def is_current(s, k: Transaction) -> Bool:
        """Its stamp is the one that the coordinator knows."""
        return s.is_stamped(k, s.metadata.producer_id, s.metadata.producer_epoch)

    def is_waiting(s, k: Transaction) -> Bool:
        """Its client is in the transaction, and has not asked to end it."""
        return all_of(
            s.requested[k] == nothing,
            exists((s.owner[k] == i) & (s.producer[i].error == nothing) for i in Instance),
        )
