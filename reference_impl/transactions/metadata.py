"""A transactional id as its coordinator keeps it: a state machine of seven states, as a table.

                 AddPartitions            EndTxn            all markers written
    Empty ---------------> Ongoing ----------> Prepare* ----------------------> Complete*
      ^                       ^  next transaction                                  | |
      |                       +----------------------------------------------------+ |
      +---------------------------- InitProducerId ----------------------------------+

    Empty, Complete* ---------------> Dead
                      rests too long

Prepare is the decision: once it is in the log of the coordinator, the transaction ends so, whoever
coordinates. Complete says that every topic partition has its marker.

An epoch counts the instances of a transactional id, and with KIP-890 also its transactions. The
last one that a client may have is `LAST_EPOCH`; after it comes another producer id.

Source: KIP-98, KIP-360, KIP-890; protocol rules, section d.
Simplified: PrepareEpochFence, which Kafka never stores, is the pending append of PrepareAbort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.log.coordinator_log import Entry
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH
from reference_impl.protocol.transactions import TransactionVersion, TxnResult

LAST_EPOCH: Final = ProducerEpoch(32_766)  # 32767 occurs in markers only


class TxnState(Enum):
    """Where the newest transaction of a transactional id is."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"  # forgotten: a tombstone in the log


_AT_REST: Final = frozenset({TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})

# From which states a state may be entered. A client of V2 that does not know whether its
# transaction has begun aborts it all the same, so PrepareAbort may follow any state at rest.
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
    """A transactional id, its producer, and its newest transaction."""

    transactional_id: str
    producer_id: ProducerId
    timeout_ms: int
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    last_producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH  # the one before, for a retry
    previous_producer_id: ProducerId = NO_PRODUCER_ID  # whose epochs were exhausted
    next_producer_id: ProducerId = NO_PRODUCER_ID  # from the next transaction on
    state: TxnState = TxnState.EMPTY
    topic_partitions: tuple[TopicPartition, ...] = ()
    started_ms: int = -1
    updated_ms: int = -1  # when it last changed
    version: TransactionVersion = TransactionVersion.V1

    @property
    def is_prepared(self) -> bool:
        """It is decided, and not every topic partition may know."""
        return self.state in PREPARED.values()

    def moved(self, state: TxnState, **changes: Any) -> TransactionMetadata:
        """The next state; ValueError when the table does not allow it."""
        if self.state not in PREDECESSORS[state]:
            raise ValueError(f"{self.transactional_id}: {self.state.value} -> {state.value}")
        return replace(self, state=state, **changes)

    def with_partitions(
        self, topic_partitions: tuple[TopicPartition, ...], now_ms: int
    ) -> TransactionMetadata:
        """Ongoing, on these too."""
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
        """Decided. In V2 the epoch is raised, so the markers fence what is still on its way."""
        prepared = self.moved(
            PREPARED[result],
            version=version,
            topic_partitions=self.topic_partitions if self.state is TxnState.ONGOING else (),
        )
        if version is TransactionVersion.V1:
            return prepared
        return replace(
            prepared,
            producer_epoch=ProducerEpoch(self.producer_epoch + 1),
            last_producer_epoch=self.producer_epoch,
            next_producer_id=new_id if self.producer_epoch >= LAST_EPOCH else NO_PRODUCER_ID,
        )

    def completed(self) -> TransactionMetadata:
        """Every marker is written; an exhausted producer id gives way to the next one."""
        done = self.moved(COMPLETED[RESULTS[self.state]], topic_partitions=(), started_ms=-1)
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        return replace(
            done,
            producer_id=self.next_producer_id,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=ProducerEpoch(0),
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    @property
    def next_producer(self) -> tuple[ProducerId, ProducerEpoch]:
        """The producer id and epoch that the client goes on with."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, ProducerEpoch(0)
        return self.producer_id, self.producer_epoch

    def entry(self) -> Entry:
        """As the coordinator's log keeps it; of what is dead it keeps nothing."""
        if self.state is TxnState.DEAD:
            return Entry(self.transactional_id, None)
        return Entry(
            self.transactional_id,
            {
                "producer_id": self.producer_id,
                "timeout_ms": self.timeout_ms,
                "producer_epoch": self.producer_epoch,
                "last_producer_epoch": self.last_producer_epoch,
                "previous_producer_id": self.previous_producer_id,
                "next_producer_id": self.next_producer_id,
                "state": self.state.value,
                "topic_partitions": [[place.topic, place.index] for place in self.topic_partitions],
                "started_ms": self.started_ms,
                "updated_ms": self.updated_ms,
                "version": int(self.version),
            },
        )

    @classmethod
    def of(cls, entry: Entry) -> TransactionMetadata:
        """What an entry of the log says."""
        told: Any = entry.value
        return cls(
            transactional_id=str(entry.key),
            producer_id=told["producer_id"],
            timeout_ms=told["timeout_ms"],
            producer_epoch=told["producer_epoch"],
            last_producer_epoch=told["last_producer_epoch"],
            previous_producer_id=told["previous_producer_id"],
            next_producer_id=told["next_producer_id"],
            state=TxnState(told["state"]),
            topic_partitions=tuple(TopicPartition(*at) for at in told["topic_partitions"]),
            started_ms=told["started_ms"],
            updated_ms=told["updated_ms"],
            version=TransactionVersion(told["version"]),
        )
