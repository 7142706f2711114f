"""The state of the version `with-late-requests` of the spec `pipeline-abstract`.

Each request of a transaction carries a transactional id and a producer epoch. A request stays in
the network: it may arrive at any later time, more than once, or never. Markers stay in the network
too. Each commit or abort raises the producer epoch, so each transaction has an epoch of its own
(KIP-890).

Source: KIP-98; KIP-447; KIP-890 part 2; KIP-1228.
Simplified: epochs never run out. A producer's requests of one epoch have sequence numbers, so a
partition appends a record once (`idempotence-abstract` proves this); the spec stores the set of
appended records instead. A transaction always has two partitions: the output and the group's
partition of `__consumer_offsets`.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Scope, Set, all_of, any_of, exists
from model.pipeline_abstract.lemmas import PipelineLemmas
from model.pipeline_abstract.state import (
    Generation,
    Instance,
    Offset,
    TopicPartition,
    TransactionalId,
)


class ProducerEpoch(Ordered):
    """The producer epoch, which fences late requests."""


class LateRequestsState(PipelineLemmas):
    transactional_ids: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(1, 10)] = 3
    aborts: bool = True  # transactions abort, and responses to InitProducerId are lost

    # the transaction coordinator
    newest_epoch: Map[TransactionalId, ProducerEpoch]  # the only one that may open a transaction
    ongoing: Set[TransactionalId]
    transaction_epoch: Map[TransactionalId, ProducerEpoch]  # of the latest transaction's requests
    committed_at: Map[TransactionalId, Set[ProducerEpoch]]  # epochs of committed transactions
    aborted_at: Map[TransactionalId, Set[ProducerEpoch]]  # epochs of aborted transactions
    marker_epoch: Map[TransactionalId, Map[ProducerEpoch, ProducerEpoch]]  # raised by their end

    # requests, by transactional id and producer epoch
    sent: Map[TransactionalId, Map[ProducerEpoch, Map[TopicPartition, Set[Offset]]]]
    resent: Map[TransactionalId, Map[ProducerEpoch, Map[TopicPartition, Set[Offset]]]]  # twice
    offset_sent: Map[TransactionalId, Map[ProducerEpoch, Set[TopicPartition]]]
    sent_offset: Map[TransactionalId, Map[ProducerEpoch, Map[TopicPartition, Offset]]]
    sent_generation: Map[TransactionalId, Map[ProducerEpoch, Map[TopicPartition, Generation]]]
    commit_requested: Map[TransactionalId, Set[ProducerEpoch]]
    abort_requested: Map[TransactionalId, Set[ProducerEpoch]]

    # the output and the group coordinator
    appended: Map[TransactionalId, Map[ProducerEpoch, Map[TopicPartition, Set[Offset]]]]
    accepted: Map[TransactionalId, Map[ProducerEpoch, Set[TopicPartition]]]  # offsets
    output_epoch: Map[TransactionalId, ProducerEpoch]  # the largest that the output has seen
    offsets_epoch: Map[TransactionalId, ProducerEpoch]  # that the group coordinator has seen

    # the instances
    held_epoch: Map[Instance, ProducerEpoch]

    def scope(s) -> Scope:
        return {**super().scope(), ProducerEpoch: s.epochs}

    # ---- predicates

    def has_transaction(s, x: TransactionalId) -> Bool:
        """Returns True if the latest transaction of `x` is not complete."""
        return s.ongoing[x] | s.is_decided(x)

    def has_ended(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the transaction with the epoch `e` is committed or aborted."""
        return s.committed_at[x][e] | s.aborted_at[x][e]

    def has_sent(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if a client has sent a record or an offset with the epoch `e`."""
        return any_of(
            exists(s.offset_sent[x][e][p] for p in TopicPartition),
            exists(s.sent[x][e][p][o] for p in TopicPartition for o in Offset),
        )

    def has_requested_end(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return s.commit_requested[x][e] | s.abort_requested[x][e]

    def is_newest(s, i: Instance, x: TransactionalId) -> Bool:
        return s.held_epoch[i] == s.newest_epoch[x]

    def holds(s, i: Instance, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return all_of(s.uses[i] == x, s.held_epoch[i] == e)
