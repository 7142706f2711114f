"""The numbers of producers, topic partitions and transactions in the spec `transactions-abstract`.

A transaction gets its number when it first appears in its coordinator's cache. A later record or
marker carries a producer id and an epoch, which identify its transaction:

    record   carries the epoch in which the transaction began
    marker   carries the next epoch, which the producer got when the transaction ended

In transaction version 2, no two transactions of a producer have the same epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, Self

from model.language.interpreter import State
from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition

CarriedEpoch = Literal["producer_epoch", "marker_epoch"]  # of records, of markers


class Stamped(Protocol):
    """A batch, a marker or a request that carries a producer id and a producer epoch."""

    @property
    def producer_id(self) -> ProducerId: ...

    @property
    def producer_epoch(self) -> ProducerEpoch: ...


@dataclass(slots=True)
class TransactionNumbers:
    """Maps transactional ids, topic partitions and transactions to their numbers in the spec."""

    producers: Mapping[str, int]  # transactional ids
    topic_partitions: Mapping[TopicPartition, int]
    begun: int = 0  # number of transactions
    latest: dict[str, int] = field(default_factory=dict[str, int])  # of each transactional id
    transactional_ids: dict[ProducerId, str] = field(default_factory=dict[ProducerId, str])

    def fork(self) -> Self:
        return replace(
            self, latest=dict(self.latest), transactional_ids=dict(self.transactional_ids)
        )

    def begin(self, transactional_id: str) -> int:
        number = self.latest[transactional_id] = self.begun
        self.begun += 1
        return number

    def carrying(self, state: State, stamped: Stamped, carries: CarriedEpoch) -> list[int]:
        """Returns the numbers of the transactions to which a batch, marker or request belongs.

        These are the transactions that have the producer and the epoch of `stamped`. `carries`
        selects the epoch to compare: the epoch of a transaction's records, or the epoch of its
        markers. The list is empty if the producer id is unknown.
        """
        if stamped.producer_id not in self.transactional_ids:
            return []
        p = self.producers[self.transactional_ids[stamped.producer_id]]
        return [
            x
            for x in range(self.begun)
            if state["begun", (x,)]
            and state["producer", (x,)] == p
            and state[carries, (x,)] == stamped.producer_epoch
        ]
