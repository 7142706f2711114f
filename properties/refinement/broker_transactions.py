"""The transactions of a cluster as a behaviour of abstract transactions.

    coordinator   a transactional id in the memory of whoever coordinates it in the latest epoch:
                  there a change is true once its append was answered
    partitions    what is committed of every topic partition, in its order: a record is appended,
                  and a marker written, when a leader's high watermark passes it

A transaction is named when its coordinator first tells of it, and it ends when the next begins. Its
records carry the producer epoch under which it began, its markers the one to which its end moved
the producer: in version 2 those tell the transactions of a producer apart. An abort of nothing is a
transaction too, begun and ended at once.

Source: KIP-98, KIP-890; `model.transactions_abstract.spec`.
Simplified: version 2 alone, and no producer id whose epochs run out; every topic partition has more
than one replica, so that no decision is carried out in the step that takes it; the offsets of a
group are records like others; what consumers are told of aborts is not mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import Self

from model.language.meaning import Cell, Value
from model.transactions_abstract.spec import Transactions
from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition
from properties.refinement.behaviour import ANY, Behaviour, Call
from properties.refinement.following import Seen
from reference_impl import transaction_marker
from reference_impl.broker import Broker
from reference_impl.log_segment import Batch
from reference_impl.messages import ErrorCode, InitializedProducerId, InitProducerId, NodeId
from reference_impl.partition_leader import Leader
from reference_impl.simulation.trace import Traced
from reference_impl.step import Answered, Asked
from reference_impl.transaction import RESULTS, Transaction, TxnState
from reference_impl.transaction_coordinator import TransactionCoordinator
from reference_impl.transaction_messages import TxnResult

_COMPLETE = frozenset({TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})


@dataclass(slots=True)
class BrokerTransactions:
    """Every transactional id and every topic partition, as far as the run has come."""

    behaviour: Behaviour
    producers: dict[str, int]  # transactional ids
    places: dict[TopicPartition, int]
    _begun: int = 0  # transactions that have names
    _now: dict[str, int] = field(default_factory=dict[str, int])  # the transaction of each
    _known: dict[str, Transaction] = field(default_factory=dict[str, Transaction])
    _ids: dict[ProducerId, str] = field(default_factory=dict[ProducerId, str])
    _epochs: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _committed: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _roles: dict[TopicPartition, TransactionCoordinator] = field(
        default_factory=dict[TopicPartition, TransactionCoordinator]
    )

    _asked: dict[tuple[NodeId, int], str] = field(default_factory=dict[tuple[NodeId, int], str])
    _given: dict[tuple[ProducerId, ProducerEpoch], tuple[NodeId, int]] = field(
        default_factory=dict[tuple[ProducerId, ProducerEpoch], tuple[NodeId, int]]
    )

    @classmethod
    def of(cls, events: Sequence[Traced]) -> BrokerTransactions:
        """The spec at the size of the run; nothing has begun."""
        brokers = [e.after for e in events if isinstance(e.after, Broker)]
        roles = {id(r): r for b in brokers for r in _coordinators(b)}
        found = {(t.transactional_id, t) for r in roles.values() for t in r.transactions.values()}
        ids = sorted({id_ for id_, _ in found})
        places = sorted({place for b in brokers for place in b.replicas})
        behaviour = Behaviour.beginning(
            Transactions(),
            {
                "Producer": max(len(ids), 1),
                "Transaction": len({(i, t.producer_id, t.producer_epoch) for i, t in found}) + 1,
                "TopicPartition": max(len(places), 1),
                "ProducerEpoch": ANY,
            },
            (0,),
        )
        numbers = {id_: k for k, id_ in enumerate(ids)}
        return cls(behaviour, numbers, {place: k for k, place in enumerate(places)})

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(
            self,
            behaviour=self.behaviour.fork(),
            _now=dict(self._now),
            _known=dict(self._known),
            _ids=dict(self._ids),
            _epochs=dict(self._epochs),
            _committed=dict(self._committed),
            _roles=dict(self._roles),
            _asked=dict(self._asked),
            _given=dict(self._given),
        )

    def seen(self, traced: Traced) -> Seen | None:
        """The actions that make the step, and what the spec's state has to be after them."""
        if not isinstance(traced.after, Broker):
            return self._told(traced)
        self._note_question(traced)
        calls: list[Call] = []
        shows: dict[Cell, Value] = {}
        passed = [
            (place, batch)
            for place, replica in traced.after.replicas.items()
            if isinstance(replica, Leader)
            for batch in self._passes(place, replica)
        ]
        for role in _coordinators(traced.after):
            for transaction in self._news(role):
                moves, seen = self._moved(transaction)
                calls += moves
                shows |= seen
        if not (passed or calls or shows):
            return None
        return Seen(calls=chain(starmap(self._passed, passed), calls), shows=shows)

    # ---- the coordinator

    def _news(self, role: TransactionCoordinator) -> Iterator[Transaction]:
        """The transactional ids that are not as they were, at the coordinator of the latest
        epoch.
        """
        place, known = role.topic_partition, self._roles.get(role.topic_partition)
        if role is known or role.coordinator_epoch < self._epochs.get(place, 0):
            return
        self._roles[place], self._epochs[place] = role, role.coordinator_epoch
        if known is not None and known.transactions is role.transactions:
            return
        for id_, transaction in role.transactions.items():
            if self._known.get(id_) != transaction:
                yield transaction

    def _moved(self, after: Transaction) -> tuple[list[Call], dict[Cell, Value]]:
        id_ = after.transactional_id
        before = self._known.get(id_)
        self._known[id_], self._ids[after.producer_id] = after, id_
        p, epoch = self.producers[id_], max(after.producer_epoch, 0)
        calls: list[Call] = []
        was = TxnState.EMPTY if before is None else before.state
        is_new_epoch = before is None or before.producer_epoch != after.producer_epoch
        match after.state:
            case TxnState.EMPTY | TxnState.DEAD:
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
                calls.append(self._ends(id_, after, epoch))
            case TxnState.COMPLETE_COMMIT | TxnState.COMPLETE_ABORT:
                if is_new_epoch:  # the next instance, of a producer that has nothing open
                    calls.append(Call("init_producer", (p, epoch)))
                if was not in _COMPLETE:
                    calls.insert(0, Call("complete_transaction", (self._now[id_],)))
        return calls, self._shows(p, id_, after, epoch)

    def _begin(self, p: int, id_: str) -> Call:
        self._now[id_] = self._begun
        self._begun += 1
        return Call("begin", (self._now[id_], p))

    def _added(self, id_: str, before: Transaction | None, after: Transaction) -> Iterator[Call]:
        is_open = before is not None and before.state is TxnState.ONGOING
        had = before.topic_partitions if is_open and before is not None else ()
        for place in after.topic_partitions:
            if place not in had:
                yield Call("add_partition", (self._now[id_], self.places[place]))

    def _ends(self, id_: str, after: Transaction, epoch: int) -> Call:
        commits = RESULTS[after.state] is TxnResult.COMMIT
        return Call("end_commit" if commits else "end_abort", (self._now[id_], epoch))

    def _shows(self, p: int, id_: str, after: Transaction, epoch: int) -> dict[Cell, Value]:
        shows: dict[Cell, Value] = {("current_epoch", (p,)): epoch}
        x = self._now.get(id_)
        if x is not None:
            is_open = after.state is TxnState.ONGOING
            if not is_open and after.state in RESULTS:
                commits = RESULTS[after.state] is TxnResult.COMMIT
                shows |= {("committed", (x,)): commits, ("aborted", (x,)): not commits}
            shows["complete", (x,)] = not is_open and not after.is_prepared
            if is_open:
                shows |= {
                    ("added", (x, t)): place in after.topic_partitions
                    for place, t in self.places.items()
                }
        return shows

    # ---- what clients hold

    def _note_question(self, traced: Traced) -> None:
        match traced.event:
            case Asked(sender, correlation, InitProducerId(transactional_id=str() as id_)):
                self._asked[sender, correlation] = id_
            case _:
                pass

    def _told(self, traced: Traced) -> Seen | None:
        """An epoch that another instance was given before is none for a new one."""
        match traced.event:
            case Answered(
                correlation=correlation,
                response=InitializedProducerId(error=ErrorCode.NONE) as told,
            ) if (traced.node, correlation) in self._asked:
                id_ = self._asked[traced.node, correlation]
                given = told.producer_id, told.producer_epoch
                owner = self._given.setdefault(given, (traced.node, correlation))
                if owner == (traced.node, correlation):
                    return None
                again = Call("init_producer", (self.producers[id_], told.producer_epoch))
                return Seen(calls=(again,))
            case _:
                return None

    # ---- topic partitions

    def _passes(self, place: TopicPartition, leader: Leader) -> Iterator[Batch]:
        """What a high watermark passes for the first time."""
        mark, known = leader.log.high_watermark, self._committed.get(place, 0)
        if mark <= known:
            return
        self._committed[place] = mark
        for batch in leader.log.batches():
            head = batch.header
            if known < head.next_offset <= mark and head.producer_id in self._ids:
                yield batch

    def _passed(self, place: TopicPartition, batch: Batch) -> Call:
        head, t = batch.header, self.places[place]
        p = self.producers[self._ids[head.producer_id]]
        carries = "marker_epoch" if head.is_control else "producer_epoch"
        state = self.behaviour.state
        named = [
            x
            for x in range(self._begun)
            if state["begun", (x,)]
            and state["producer", (x,)] == p
            and state[carries, (x,)] == head.producer_epoch
        ]
        x = named[-1] if named else self._begun  # of nobody: that has not begun
        if head.is_control:
            commits = transaction_marker.read(batch.data).result is TxnResult.COMMIT
            decided = state["committed" if commits else "aborted", (x,)]
            again = state["marked", (x, t)] if named else False
            action = "write_marker_again" if again else "write_marker"
            return Call(action, (x if decided else self._begun, t))
        return Call("append", (x, t))


def _coordinators(broker: Broker) -> Iterator[TransactionCoordinator]:
    for role in broker.coordinating.roles.values():
        if isinstance(role, TransactionCoordinator):
            yield role
