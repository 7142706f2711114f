"""DOC transactions_abstract state"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Scope, Set, Sort, Spec, forall, implies


class Producer(Sort):
    """A transactional id, and the producer id that goes with it."""


class TopicPartition(Sort):
    """Keeps records, and remembers the largest epoch it has seen of each producer."""


class Transaction(Sort):
    """One transaction, from begin to complete."""


class ProducerEpoch(Ordered):
    """Fences requests of the past."""


class AbstractTransactionsState(Spec):
    """DOC AbstractTransactionsState"""

    producers: Annotated[int, range(1, 10)] = 1
    transactions: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(1, 10)] = 4

    # what the coordinator knows
    current_epoch: Map[Producer, ProducerEpoch]
    begun: Set[Transaction]
    producer: Map[Transaction, Producer]
    producer_epoch: Map[Transaction, ProducerEpoch]  # carried by the records of the transaction
    added: Map[Transaction, Set[TopicPartition]]
    committed: Set[Transaction]
    aborted: Set[Transaction]
    marker_epoch: Map[Transaction, ProducerEpoch]  # carried by its markers
    complete: Set[Transaction]

    # what partitions know
    seen_epoch: Map[TopicPartition, Map[Producer, ProducerEpoch]]
    marked: Map[Transaction, Set[TopicPartition]]
    written: Map[Transaction, Set[TopicPartition]]
    pending: Map[Transaction, Set[TopicPartition]]  # written, and not yet decided there
    kept: Map[Transaction, Set[TopicPartition]]  # decided there: committed
    dropped: Map[Transaction, Set[TopicPartition]]  # decided there: aborted

    def scope(s) -> Scope:
        return {
            Producer: s.producers,
            Transaction: s.transactions,
            TopicPartition: s.partitions,
            ProducerEpoch: s.epochs,
        }

    def init(s, someone: Producer) -> None:
        """Nothing has begun."""
        for x in Transaction:
            s.producer[x] = someone  # without meaning until x begins

    def decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def is_open(s, x: Transaction) -> Bool:
        return s.begun[x] & ~s.complete[x]

    def has_nothing_open(s, producer: Producer) -> Bool:
        return forall(implies(s.producer[x] == producer, ~s.is_open(x)) for x in Transaction)
