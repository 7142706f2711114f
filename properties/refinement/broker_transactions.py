"""Maps the transactions of a cluster to a behaviour of the spec `transactions-abstract`.

The coordinator and the partitions of the spec get their values from the cluster:

    coordinator   the cache of the newest coordinator of each transactional id. A change of the
                  cache counts when its append to the coordinator's log has been acknowledged
    partitions    the committed part of each topic partition. When a leader's high watermark passes
                  a record or a marker, the spec's partition gets this record or marker

A transaction of the spec begins when the transaction first appears in its coordinator's cache
(`transaction_numbers`). It ends at the latest when the producer's next transaction begins. If the
coordinator aborts although no transaction is open, the spec begins a transaction and aborts it at
once. `transaction_knowledge` checks that a node knows the steps of other nodes only by messages.

Source: KIP-98, KIP-890; `model.transactions_abstract.versions`.
Simplified: only transaction version 2 is mapped. Runs in which the epochs of a producer id run out
are not mapped. Every topic partition has more than one replica. So a decision of the coordinator is
replicated first, and takes effect only in a later step. The offsets of a group are mapped like
other records. The lists of aborted transactions that consumers receive are not mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import Self

from model.language.interpreter import Cell, Value
from model.transactions_abstract.versions import Transactions
from model.vocabulary import TopicPartition
from properties.refinement.behaviour import ANY, Behaviour, Call
from properties.refinement.trace_validation import ExpectedStep
from properties.refinement.transaction_knowledge import UNREQUESTED, TransactionKnowledge
from properties.refinement.transaction_numbers import CarriedEpoch, TransactionNumbers
from reference_impl.broker.broker import Broker
from reference_impl.log import transaction_marker
from reference_impl.log.segment import Batch
from reference_impl.partition.leader import Leader
from reference_impl.protocol.transactions import TxnResult
from reference_impl.simulation.trace import Traced
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import RESULTS, TransactionMetadata, TxnState

_COMPLETE = frozenset({TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})


@dataclass(slots=True)
class BrokerTransactions:
    """Maps the events of a cluster to actions of the spec `transactions-abstract`."""

    behaviour: Behaviour
    numbers: TransactionNumbers
    _knowledge: TransactionKnowledge
    _metadata: dict[str, TransactionMetadata] = field(
        default_factory=dict[str, TransactionMetadata]
    )
    _epochs: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _roles: dict[TopicPartition, TransactionCoordinator] = field(
        default_factory=dict[TopicPartition, TransactionCoordinator]
    )

    @classmethod
    def of(cls, events: Sequence[Traced]) -> BrokerTransactions:
        brokers = [e.after for e in events if isinstance(e.after, Broker)]
        roles = {id(r): r for b in brokers for r in _coordinators(b)}
        found = {(t.transactional_id, t) for r in roles.values() for t in r.transactions.values()}
        ids = sorted({id_ for id_, _ in found})
        topic_partitions = sorted({place for b in brokers for place in b.replicas})
        behaviour = Behaviour.initial(
            Transactions(),
            {
                "Producer": max(len(ids), 1),
                "Transaction": len({(i, t.producer_id, t.producer_epoch) for i, t in found}) + 1,
                "TopicPartition": max(len(topic_partitions), 1),
                "ProducerEpoch": ANY,
            },
            (0,),
        )
        numbers = TransactionNumbers(
            producers={id_: k for k, id_ in enumerate(ids)},
            topic_partitions={it: k for k, it in enumerate(topic_partitions)},
        )
        return cls(behaviour, numbers, TransactionKnowledge(numbers))

    @property
    def elements(self) -> dict[str, list[str]]:
        return {
            "Producer": [*self.numbers.producers],
            "TopicPartition": [*map(str, self.numbers.topic_partitions)],
        }

    def fork(self) -> Self:
        numbers = self.numbers.fork()
        return replace(
            self,
            behaviour=self.behaviour.fork(),
            numbers=numbers,
            _knowledge=self._knowledge.fork(numbers),
            _metadata=dict(self._metadata),
            _epochs=dict(self._epochs),
            _roles=dict(self._roles),
        )

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        untrue = self._knowledge.violation(traced, self.behaviour.state)
        if untrue:
            return ExpectedStep(calls=(), violation=untrue)
        if not isinstance(traced.after, Broker):
            return self._knowledge.epoch_received(traced)
        calls: list[Call] = []
        cells: dict[Cell, Value] = {}
        violation = ""
        committed = [
            (topic_partition, batch)
            for topic_partition, replica in traced.after.replicas.items()
            if isinstance(replica, Leader)
            for batch in self._newly_committed(topic_partition, replica)
        ]
        for role in _coordinators(traced.after):
            violation = violation or self._knowledge.unfounded_change(
                traced, traced.after, self._roles.get(role.topic_partition), role
            )
            for after in self._changed(role):
                before = self._metadata.get(after.transactional_id)
                if after.state is TxnState.PREPARE_COMMIT and (
                    before is None or before.state is not TxnState.PREPARE_COMMIT
                ):
                    is_requested = self._knowledge.is_requested(before, after)
                    violation = "" if is_requested else UNREQUESTED
                actions, expected = self._coordinator_step(after)
                calls += actions
                cells |= expected
        if not (committed or calls or cells):
            return None
        return ExpectedStep(
            calls=chain(starmap(self._appended, committed), calls),
            cells=cells,
            violation=violation,
        )

    # ---- the coordinator

    def _changed(self, role: TransactionCoordinator) -> Iterator[TransactionMetadata]:
        topic_partition, before = role.topic_partition, self._roles.get(role.topic_partition)
        if role is before or role.coordinator_epoch < self._epochs.get(topic_partition, 0):
            return
        self._roles[topic_partition], self._epochs[topic_partition] = role, role.coordinator_epoch
        if before is not None and before.transactions is role.transactions:
            return
        for id_, transaction in role.transactions.items():
            if self._metadata.get(id_) != transaction:
                yield transaction

    def _coordinator_step(self, after: TransactionMetadata) -> tuple[list[Call], dict[Cell, Value]]:
        id_ = after.transactional_id
        before = self._metadata.get(id_)
        self._metadata[id_] = after
        self.numbers.transactional_ids[after.producer_id] = id_
        p, epoch = self.numbers.producers[id_], max(after.producer_epoch, 0)
        calls: list[Call] = []
        was = TxnState.EMPTY if before is None else before.state
        is_new_epoch = before is None or before.producer_epoch != after.producer_epoch
        match after.state:
            case TxnState.EMPTY | TxnState.DEAD:
                self._knowledge.epochs_taken.add((p, epoch))
                if was is TxnState.ONGOING or (is_new_epoch and epoch):
                    calls.append(Call("init_producer", (p, epoch)))
            case TxnState.ONGOING:
                if was is not TxnState.ONGOING or is_new_epoch:
                    calls.append(self._begin(p, id_))
                calls += self._added(id_, before, after)
            case TxnState.PREPARE_COMMIT | TxnState.PREPARE_ABORT:
                if was is not TxnState.ONGOING:
                    calls.append(self._begin(p, id_))
                calls += self._added(id_, before, after)
                calls.append(self._ends(id_, before, after, epoch))
            case TxnState.COMPLETE_COMMIT | TxnState.COMPLETE_ABORT:
                if is_new_epoch:  # the next instance, of a producer that has nothing open
                    self._knowledge.epochs_taken.add((p, epoch))
                    calls.append(Call("init_producer", (p, epoch)))
                if was not in _COMPLETE:
                    calls.insert(0, Call("complete_transaction", (self.numbers.latest[id_],)))
        return calls, self._cells(p, id_, after, epoch)

    def _begin(self, p: int, id_: str) -> Call:
        return Call("begin", (self.numbers.begin(id_), p))

    def _added(
        self, id_: str, before: TransactionMetadata | None, after: TransactionMetadata
    ) -> Iterator[Call]:
        is_open = before is not None and before.state is TxnState.ONGOING
        had = before.topic_partitions if is_open and before is not None else ()
        for topic_partition in after.topic_partitions:
            if topic_partition not in had:
                yield Call(
                    "add_partition",
                    (self.numbers.latest[id_], self.numbers.topic_partitions[topic_partition]),
                )

    def _ends(
        self, id_: str, before: TransactionMetadata | None, after: TransactionMetadata, epoch: int
    ) -> Call:
        commits = RESULTS[after.state] is TxnResult.COMMIT
        aborts = "end_abort" if self._knowledge.is_requested(before, after) else "fence"
        return Call("end_commit" if commits else aborts, (self.numbers.latest[id_], epoch))

    def _cells(self, p: int, id_: str, after: TransactionMetadata, epoch: int) -> dict[Cell, Value]:
        cells: dict[Cell, Value] = {("current_epoch", (p,)): epoch}
        x = self.numbers.latest.get(id_)
        if x is not None:
            is_open = after.state is TxnState.ONGOING
            if not is_open and after.state in RESULTS:
                commits = RESULTS[after.state] is TxnResult.COMMIT
                cells |= {("committed", (x,)): commits, ("aborted", (x,)): not commits}
            cells["complete", (x,)] = not is_open and not after.is_prepared
            if is_open:
                cells |= {
                    ("added", (x, t)): topic_partition in after.topic_partitions
                    for topic_partition, t in self.numbers.topic_partitions.items()
                }
        return cells

    # ---- topic partitions

    def _newly_committed(self, topic_partition: TopicPartition, leader: Leader) -> Iterator[Batch]:
        mark, was = leader.log.high_watermark, self._knowledge.committed.get(topic_partition, 0)
        if mark <= was:
            return
        self._knowledge.committed[topic_partition] = mark
        numbers = self.numbers
        for batch in leader.log.batches():
            head = batch.header
            if was < head.next_offset <= mark and head.producer_id in numbers.transactional_ids:
                yield batch

    def _appended(self, topic_partition: TopicPartition, batch: Batch) -> Call:
        head, t = batch.header, self.numbers.topic_partitions[topic_partition]
        state = self.behaviour.state
        carries: CarriedEpoch = "marker_epoch" if head.is_control else "producer_epoch"
        transactions = self.numbers.carrying(state, head, carries)
        not_begun = self.numbers.begun  # the spec refuses every action of this transaction
        x = transactions[-1] if transactions else not_begun
        if head.is_control:
            commits = transaction_marker.read(batch.data).result is TxnResult.COMMIT
            decided = state["committed" if commits else "aborted", (x,)]
            again = state["marked", (x, t)] if transactions else False
            action = "write_marker_again" if again else "write_marker"
            return Call(action, (x if decided else not_begun, t))
        return Call("append", (x, t))


def _coordinators(broker: Broker) -> Iterator[TransactionCoordinator]:
    for role in broker.local_coordinators.roles.values():
        if isinstance(role, TransactionCoordinator):
            yield role
