"""The state of the spec `transactions-abstract`: the coordinator's knowledge and the partitions'
knowledge.

Source: KIP-98; KIP-890 part 2 (an epoch for every transaction); KIP-1228 (a marker is accepted only
above the epoch that the partition has seen).
Simplified: the coordinator never fails, and epochs never run out. A request to end a transaction
names the transaction, so this spec has no late EndTxn of transaction version 1 (KAFKA-17754). A
partition stores a set of transactions, not a log. The spec has no verification (KIP-890 part 1),
because verification only makes partitions refuse more records.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Scope, Set, Sort, Spec, forall, implies


class Producer(Sort):
    """A transactional id, together with its producer id."""


class TopicPartition(Sort):
    """A partition. For each producer, it stores the largest epoch that it has seen."""


class Transaction(Sort):
    """One transaction of a producer, from its begin to its completion."""


class ProducerEpoch(Ordered):
    """The producer epoch, which fences late requests."""


class AbstractTransactionsState(Spec):
    producers: Annotated[int, range(1, 10)] = 1
    transactions: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(1, 10)] = 4

    # the coordinator
    current_epoch: Map[Producer, ProducerEpoch]
    begun: Set[Transaction]
    producer: Map[Transaction, Producer]
    producer_epoch: Map[Transaction, ProducerEpoch]  # carried by the records of the transaction
    added: Map[Transaction, Set[TopicPartition]]
    committed: Set[Transaction]
    aborted: Set[Transaction]
    marker_epoch: Map[Transaction, ProducerEpoch]  # carried by its markers
    complete: Set[Transaction]

    # partitions
    seen_epoch: Map[TopicPartition, Map[Producer, ProducerEpoch]]
    marked: Map[Transaction, Set[TopicPartition]]
    written: Map[Transaction, Set[TopicPartition]]
    pending: Map[Transaction, Set[TopicPartition]]  # written there, without a marker yet
    kept: Map[Transaction, Set[TopicPartition]]  # committed there by a marker
    dropped: Map[Transaction, Set[TopicPartition]]  # aborted there by a marker

    def scope(s) -> Scope:
        return {
            Producer: s.producers,
            Transaction: s.transactions,
            TopicPartition: s.partitions,
            ProducerEpoch: s.epochs,
        }

    def init(s, someone: Producer) -> None:
        for x in Transaction:
            s.producer[x] = someone  # unused until x begins

    def decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def is_open(s, x: Transaction) -> Bool:
        return s.begun[x] & ~s.complete[x]

    def has_nothing_open(s, producer: Producer) -> Bool:
        return forall(implies(s.producer[x] == producer, ~s.is_open(x)) for x in Transaction)
