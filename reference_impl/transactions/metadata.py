"""The metadata of a transactional id: a state machine of seven states. Prepare* stands for
PrepareCommit and PrepareAbort, and Complete* for CompleteCommit and CompleteAbort:

                 AddPartitions            EndTxn            all markers written
    Empty ---------------> Ongoing ----------> Prepare* ----------------------> Complete*
      ^                       ^  next transaction                                  | |
      |                       +----------------------------------------------------+ |
      +---------------------------- InitProducerId ----------------------------------+

    Empty, Complete* --------------------------------> Dead
                      transactional.id.expiration.ms

When Prepare* is in the log, the result of the transaction is decided for every later coordinator.

The producer epoch increases with each new instance of the producer. With KIP-890, it also increases
with each transaction. After `LAST_EPOCH`, the coordinator assigns another producer id.

Source: KIP-98, KIP-360, KIP-890; docs/kafka-rules.md D1 to D7.
Simplified: the record has a field for the previous producer epoch. Kafka's record does not have
this field, so a new coordinator of Kafka does not know the previous producer epoch. Kafka has a
further state, PrepareEpochFence, and never stores it. Here, a pending append of PrepareAbort takes
its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from typing import Any, Final

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.log.coordinator_records import TRANSACTION, Entry
from reference_impl.log.message_schema import Plain
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH
from reference_impl.protocol.transactions import TransactionVersion, TxnResult

LAST_EPOCH: Final = ProducerEpoch(32_766)  # 32767 occurs only in markers


class TxnState(Enum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"  # expired, unknown from now on: a tombstone in the log


# By their numbers in the log. Kafka: TransactionState.
_STATUSES: Final = (*TxnState,)
# Kafka: TransactionVersion.transactionVersionForEndTxn
_CLIENT_VERSIONS: Final = {TransactionVersion.V1: 0, TransactionVersion.V2: 2}
_OF_CLIENT_VERSION: Final = {number: version for version, number in _CLIENT_VERSIONS.items()}
_AT_REST: Final = frozenset({TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})

# The states from which each state may be entered. If a client of V2 does not know whether its
# transaction has begun, it sends an abort. PrepareAbort may thus follow any state at rest.
PREDECESSORS: Final[Mapping[TxnState, frozenset[TxnState]]] = {
    TxnState.EMPTY: _AT_REST,
    TxnState.ONGOING: _AT_REST | {TxnState.ONGOING},
    TxnState.PREPARE_COMMIT: frozenset({TxnState.ONGOING}),
    TxnState.PREPARE_ABORT: _AT_REST | {TxnState.ONGOING},
    TxnState.COMPLETE_COMMIT: frozenset({TxnState.PREPARE_COMMIT}),
    TxnState.COMPLETE_ABORT: frozenset({TxnState.PREPARE_ABORT}),
    TxnState.DEAD: _AT_REST,
}
PREPARED: Final[Mapping[TxnResult, TxnState]] = {
    TxnResult.COMMIT: TxnState.PREPARE_COMMIT,
    TxnResult.ABORT: TxnState.PREPARE_ABORT,
}
COMPLETED: Final[Mapping[TxnResult, TxnState]] = {
    TxnResult.COMMIT: TxnState.COMPLETE_COMMIT,
    TxnResult.ABORT: TxnState.COMPLETE_ABORT,
}
RESULTS: Final[Mapping[TxnState, TxnResult]] = {
    state: result for table in (PREPARED, COMPLETED) for result, state in table.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """The producer id and epoch of a transactional id, and its newest transaction."""

    transactional_id: str
    producer_id: ProducerId
    timeout_ms: int
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    last_producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH  # the previous epoch, for a retry
    previous_producer_id: ProducerId = NO_PRODUCER_ID  # before the last change
    next_producer_id: ProducerId = NO_PRODUCER_ID  # from the next transaction on
    state: TxnState = TxnState.EMPTY
    topic_partitions: tuple[TopicPartition, ...] = ()
    started_ms: int = -1
    updated_ms: int = -1  # when it last changed
    version: TransactionVersion = TransactionVersion.V1

    @property
    def is_prepared(self) -> bool:
        """True if the coordinator has decided to commit or abort the transaction, but some of its
        markers may not be written yet.
        """
        return self.state in PREPARED.values()

    def moved(self, state: TxnState, **changes: Any) -> TransactionMetadata:
        """Returns the metadata in the state `state`, with the `changes` of other fields. Raises
        ValueError if the state machine does not allow this transition.

        Kafka: TransactionMetadata.prepareTransitionTo.
        """
        if self.state not in PREDECESSORS[state]:
            raise ValueError(f"{self.transactional_id}: {self.state.value} -> {state.value}")
        # A retry with the old producer id is detected until the next transition.
        return replace(self, state=state, previous_producer_id=self.producer_id, **changes)

    def with_partitions(
        self, topic_partitions: tuple[TopicPartition, ...], now_ms: int
    ) -> TransactionMetadata:
        is_open = self.state is TxnState.ONGOING
        added = (*(self.topic_partitions if is_open else ()), *topic_partitions)
        return self.moved(
            TxnState.ONGOING,
            topic_partitions=tuple(sorted(set(added))),
            started_ms=self.started_ms if is_open else now_ms,
        )

    def prepared(
        self, result: TxnResult, version: TransactionVersion, new_id: ProducerId
    ) -> TransactionMetadata:
        """Returns the metadata after the decision to commit or abort. In V2 of the transaction
        protocol, it has the next producer epoch.

        `new_id` becomes the next producer id if the producer has used its last epoch.
        """
        prepared = self.moved(
            PREPARED[result],
            version=version,
            topic_partitions=self.topic_partitions if self.state is TxnState.ONGOING else (),
        )
        if version is TransactionVersion.V1:
            return prepared
        # In V2 the markers fence requests of this transaction that are still in flight.
        return replace(
            prepared,
            producer_epoch=ProducerEpoch(self.producer_epoch + 1),
            last_producer_epoch=self.producer_epoch,
            next_producer_id=new_id if self.producer_epoch >= LAST_EPOCH else NO_PRODUCER_ID,
        )

    def completed(self) -> TransactionMetadata:
        done = self.moved(COMPLETED[RESULTS[self.state]], topic_partitions=(), started_ms=-1)
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        # The producer id has no more epochs. The last epoch of the client is still stored, so a
        # retry of the client is detected.
        return replace(
            done,
            producer_id=self.next_producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=ProducerEpoch(0),
        )

    @property
    def next_producer(self) -> tuple[ProducerId, ProducerEpoch]:
        """The producer id and the producer epoch of the client's next transaction."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, ProducerEpoch(0)
        return self.producer_id, self.producer_epoch

    def entry(self) -> Entry:
        if self.state is TxnState.DEAD:
            return Entry([TRANSACTION, self.transactional_id], None)
        topics = groupby(sorted(self.topic_partitions), key=lambda place: place.topic)
        partitions: list[Plain] = [
            {"topic": topic, "partition_ids": [place.index for place in places]}
            for topic, places in topics
        ]
        return Entry(
            [TRANSACTION, self.transactional_id],
            {
                "producer_id": self.producer_id,
                "transaction_timeout_ms": self.timeout_ms,
                "producer_epoch": self.producer_epoch,
                "last_producer_epoch": self.last_producer_epoch,
                "previous_producer_id": self.previous_producer_id,
                "next_producer_id": self.next_producer_id,
                "transaction_status": _STATUSES.index(self.state),
                "transaction_partitions": None if self.state is TxnState.EMPTY else partitions,
                "transaction_start_timestamp_ms": self.started_ms,
                "transaction_last_update_timestamp_ms": self.updated_ms,
                "client_transaction_version": _CLIENT_VERSIONS[self.version],
            },
        )

    @classmethod
    def of(cls, entry: Entry) -> TransactionMetadata:
        value: Any = entry.value
        return cls(
            transactional_id=str(entry.key[1]),
            producer_id=value["producer_id"],
            timeout_ms=value["transaction_timeout_ms"],
            producer_epoch=value["producer_epoch"],
            last_producer_epoch=value["last_producer_epoch"],
            previous_producer_id=value["previous_producer_id"],
            next_producer_id=value["next_producer_id"],
            state=_STATUSES[value["transaction_status"]],
            topic_partitions=tuple(
                TopicPartition(of["topic"], index)
                for of in value["transaction_partitions"] or ()
                for index in of["partition_ids"]
            ),
            started_ms=value["transaction_start_timestamp_ms"],
            updated_ms=value["transaction_last_update_timestamp_ms"],
            version=_OF_CLIENT_VERSION[value["client_transaction_version"]],
        )
