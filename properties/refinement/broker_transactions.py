"""The transactions of a cluster as a behaviour of abstract transactions.

    coordinator   a transactional id in the memory of whoever coordinates it in the latest epoch:
                  there a change is true once its append was answered
    partitions    what is committed of every topic partition, in its order: a record is appended,
                  and a marker written, when a leader's high watermark passes it

A transaction is named when its coordinator first tells of it, and it ends when the next begins. Its
records carry the producer epoch under which it began, its markers the one to which its end moved
the producer: in version 2 those tell the transactions of a producer apart. An abort of nothing is a
transaction too, begun and ended at once.

What a message tells has to be true when it arrives: that a transaction ended so, that a topic
partition is added, that a record or a marker is committed. A commit was asked for; an abort that
nobody asked for is a fence. And a coordinator learns nothing but from its log.

Source: KIP-98, KIP-890; `model.transactions_abstract.versions`.
Simplified: version 2 alone, and no producer id whose epochs run out; every topic partition has more
than one replica, so that no decision is carried out in the step that takes it; the offsets of a
group are records like others; what consumers are told of aborts is not mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import Final, NamedTuple, Protocol, Self

from model.language.interpreter import Cell, Value
from model.transactions_abstract.versions import Transactions
from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition
from properties.refinement.behaviour import ANY, Behaviour, Call
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.broker.broker import Broker
from reference_impl.log import transaction_marker
from reference_impl.log.segment import Batch
from reference_impl.node.step import RequestReceived, ResponseReceived, TimerFired
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import AlteredPartition, UpdateMetadata
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.simulation.trace import Traced
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import RESULTS, TransactionMetadata, TxnState

_UNCOMMITTED: Final = "nothing of the coordinator's log was committed"
_UNASKED: Final = "nobody asked for this commit"
_COMPLETE = frozenset({TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT})


class Stamped(Protocol):
    """What carries an epoch of a producer: a batch, a marker, a request."""

    @property
    def producer_id(self) -> ProducerId:
        """Whose it is."""
        ...

    @property
    def producer_epoch(self) -> ProducerEpoch:
        """Of the instance, or the transaction."""
        ...


class Ending(NamedTuple):
    """That the transactions of a producer epoch shall end so, or that they did under it."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    result: TxnResult


@dataclass(slots=True)
class BrokerTransactions:
    """Every transactional id and every topic partition, as far as the run has come."""

    behaviour: Behaviour
    producers: dict[str, int]  # transactional ids
    topic_partitions: dict[TopicPartition, int]
    _begun: int = 0  # transactions that have names
    _now: dict[str, int] = field(default_factory=dict[str, int])  # the transaction of each
    _known: dict[str, TransactionMetadata] = field(default_factory=dict[str, TransactionMetadata])
    _ids: dict[ProducerId, str] = field(default_factory=dict[ProducerId, str])
    _epochs: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _committed: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _roles: dict[TopicPartition, TransactionCoordinator] = field(
        default_factory=dict[TopicPartition, TransactionCoordinator]
    )

    _asked: dict[tuple[NodeId, NodeId, int], Request] = field(
        default_factory=dict[tuple[NodeId, NodeId, int], Request]
    )
    _wished: set[Ending] = field(default_factory=set[Ending])
    _taken: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])  # by instances
    _marks: dict[tuple[NodeId, TopicPartition], int] = field(
        default_factory=dict[tuple[NodeId, TopicPartition], int]
    )
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
        topic_partitions = sorted(
            {topic_partition for b in brokers for topic_partition in b.replicas}
        )
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
        numbers = {id_: k for k, id_ in enumerate(ids)}
        return cls(
            behaviour,
            numbers,
            {topic_partition: k for k, topic_partition in enumerate(topic_partitions)},
        )

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
            _wished=set(self._wished),
            _taken=set(self._taken),
            _marks=dict(self._marks),
        )

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        """The actions that make the step, and what the spec's state has to be after them."""
        unfounded = self._unfounded(traced)
        if unfounded:
            return ExpectedStep(calls=(), violation=unfounded)
        if not isinstance(traced.after, Broker):
            return self._told(traced)
        calls: list[Call] = []
        shows: dict[Cell, Value] = {}
        violation = ""
        passed = [
            (topic_partition, batch)
            for topic_partition, replica in traced.after.replicas.items()
            if isinstance(replica, Leader)
            for batch in self._passes(topic_partition, replica)
        ]
        for role in _coordinators(traced.after):
            violation = violation or self._unlearned(traced, traced.after, role)
            for transaction in self._news(role):
                before = self._known.get(transaction.transactional_id)
                if transaction.state is TxnState.PREPARE_COMMIT and (
                    before is None or before.state is not TxnState.PREPARE_COMMIT
                ):
                    violation = "" if self._is_wished(before, transaction) else _UNASKED
                moves, seen = self._moved(transaction)
                calls += moves
                shows |= seen
        if not (passed or calls or shows):
            return None
        return ExpectedStep(
            calls=chain(starmap(self._passed, passed), calls), shows=shows, violation=violation
        )

    # ---- the coordinator

    def _unlearned(self, traced: Traced, broker: Broker, role: TransactionCoordinator) -> str:
        """What a coordinator remembers changes when its log is committed further."""
        topic_partition = role.topic_partition
        known, was = (
            self._roles.get(topic_partition),
            self._marks.get((traced.node, topic_partition)),
        )
        self._marks[traced.node, topic_partition] = mark = broker.replicas[
            topic_partition
        ].log.high_watermark
        if known is None or known.coordinator_epoch != role.coordinator_epoch:
            return ""
        is_news = known.transactions != role.transactions
        return (
            _UNCOMMITTED
            if is_news and (was == mark or not _concerns(traced, topic_partition))
            else ""
        )

    def _news(self, role: TransactionCoordinator) -> Iterator[TransactionMetadata]:
        """The transactional ids that are not as they were, at the coordinator of the latest
        epoch.
        """
        topic_partition, known = role.topic_partition, self._roles.get(role.topic_partition)
        if role is known or role.coordinator_epoch < self._epochs.get(topic_partition, 0):
            return
        self._roles[topic_partition], self._epochs[topic_partition] = role, role.coordinator_epoch
        if known is not None and known.transactions is role.transactions:
            return
        for id_, transaction in role.transactions.items():
            if self._known.get(id_) != transaction:
                yield transaction

    def _moved(self, after: TransactionMetadata) -> tuple[list[Call], dict[Cell, Value]]:
        id_ = after.transactional_id
        before = self._known.get(id_)
        self._known[id_], self._ids[after.producer_id] = after, id_
        p, epoch = self.producers[id_], max(after.producer_epoch, 0)
        calls: list[Call] = []
        was = TxnState.EMPTY if before is None else before.state
        is_new_epoch = before is None or before.producer_epoch != after.producer_epoch
        match after.state:
            case TxnState.EMPTY | TxnState.DEAD:
                self._taken.add((p, epoch))
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
                    self._taken.add((p, epoch))
                    calls.append(Call("init_producer", (p, epoch)))
                if was not in _COMPLETE:
                    calls.insert(0, Call("complete_transaction", (self._now[id_],)))
        return calls, self._shows(p, id_, after, epoch)

    def _begin(self, p: int, id_: str) -> Call:
        self._now[id_] = self._begun
        self._begun += 1
        return Call("begin", (self._now[id_], p))

    def _added(
        self, id_: str, before: TransactionMetadata | None, after: TransactionMetadata
    ) -> Iterator[Call]:
        is_open = before is not None and before.state is TxnState.ONGOING
        had = before.topic_partitions if is_open and before is not None else ()
        for topic_partition in after.topic_partitions:
            if topic_partition not in had:
                yield Call(
                    "add_partition", (self._now[id_], self.topic_partitions[topic_partition])
                )

    def _ends(
        self, id_: str, before: TransactionMetadata | None, after: TransactionMetadata, epoch: int
    ) -> Call:
        """Nobody asks for the abort of a transaction that is fenced."""
        commits = RESULTS[after.state] is TxnResult.COMMIT
        aborts = "end_abort" if self._is_wished(before, after) else "fence"
        return Call("end_commit" if commits else aborts, (self._now[id_], epoch))

    def _is_wished(self, before: TransactionMetadata | None, after: TransactionMetadata) -> bool:
        was = after if before is None else before
        wish = Ending(was.producer_id, was.producer_epoch, RESULTS[after.state])
        return wish in self._wished

    def _shows(self, p: int, id_: str, after: TransactionMetadata, epoch: int) -> dict[Cell, Value]:
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
                    ("added", (x, t)): topic_partition in after.topic_partitions
                    for topic_partition, t in self.topic_partitions.items()
                }
        return shows

    # ---- what nodes are told

    def _unfounded(self, traced: Traced) -> str:
        """What a message tells that is not so yet: its sender could not know it; or empty."""
        match traced.event:
            case RequestReceived(sender, correlation, request):
                self._asked[sender, traced.node, correlation] = request
                if isinstance(request, EndTxn):
                    epoch = request.producer_epoch
                    self._wished.add(Ending(request.producer_id, epoch, request.result))
                if isinstance(request, WriteTxnMarker) and not self._is_decided(request):
                    return f"nobody decided {request.result.name} in epoch {request.producer_epoch}"
            case ResponseReceived(sender, correlation, response):
                asked = self._asked.get((traced.node, sender, correlation))
                if asked is None:
                    return f"node {sender} has not heard yet what it answers"
                if getattr(response, "error", None) is ErrorCode.NONE:
                    return self._unfounded_answer(asked, response)
            case _:
                pass
        return ""

    def _unfounded_answer(self, request: Request, response: Response) -> str:
        match request, response:
            case EndTxn(version=TransactionVersion.V2), EndedTxn() as told:
                by = Ending(told.producer_id, told.producer_epoch, request.result)
                is_so = self._is_decided(by, of=request.producer_epoch)
                return "" if is_so else f"that transaction did not {by.result.name}"
            case Produce(transactional_id=str(), acks=-1), Produced(base_offset=told):
                committed = self._committed.get(request.topic_partition, 0)
                return "" if told < committed else f"offset {told} is not committed"
            case WriteTxnMarker(topic_partition=topic_partition), _:
                is_marked = self._has(request, "marker_epoch", "marked", (topic_partition,))
                return "" if is_marked else "the marker is not committed"
            case AddPartitionsToTxn(topic_partitions=topic_partitions), _:
                is_added = self._has(request, "producer_epoch", "added", topic_partitions)
                return "" if is_added else "the transaction has not heard of the topic partition"
            case _:
                return ""

    def _is_decided(self, ending: WriteTxnMarker | Ending, of: ProducerEpoch | None = None) -> bool:
        """Some transaction ended so; with `of`, one whose records carry that epoch."""
        state = self.behaviour.state
        decided = "committed" if ending.result is TxnResult.COMMIT else "aborted"
        return any(
            state[decided, (x,)] and of in {None, state["producer_epoch", (x,)]}
            for x in self._named(ending, "marker_epoch")
        )

    def _has(
        self,
        request: WriteTxnMarker | AddPartitionsToTxn,
        carries: str,
        which: str,
        topic_partitions: Sequence[TopicPartition],
    ) -> bool:
        state, named = self.behaviour.state, self._named(request, carries)
        return all(
            any(state[which, (x, self.topic_partitions[at])] for x in named)
            for at in topic_partitions
        )

    def _told(self, traced: Traced) -> ExpectedStep | None:
        """An epoch that another instance was given before is none for a new one."""
        match traced.event:
            case ResponseReceived(
                sender, correlation, InitializedProducerId(error=ErrorCode.NONE) as told
            ):
                asked = self._asked[traced.node, sender, correlation]
                if not isinstance(asked, InitProducerId) or asked.transactional_id is None:
                    return None
                p = self.producers[asked.transactional_id]
                by = traced.node, correlation
                owner = self._given.setdefault((told.producer_id, told.producer_epoch), by)
                again = Call("init_producer", (p, told.producer_epoch))
                is_new = (p, told.producer_epoch) in self._taken
                return ExpectedStep(
                    calls=() if owner == by else (again,),
                    violation="" if is_new else f"no instance took epoch {told.producer_epoch}",
                )
            case _:
                return None

    # ---- topic partitions

    def _passes(self, topic_partition: TopicPartition, leader: Leader) -> Iterator[Batch]:
        """What a high watermark passes for the first time."""
        mark, known = leader.log.high_watermark, self._committed.get(topic_partition, 0)
        if mark <= known:
            return
        self._committed[topic_partition] = mark
        for batch in leader.log.batches():
            head = batch.header
            if known < head.next_offset <= mark and head.producer_id in self._ids:
                yield batch

    def _passed(self, topic_partition: TopicPartition, batch: Batch) -> Call:
        head, t = batch.header, self.topic_partitions[topic_partition]
        state = self.behaviour.state
        named = self._named(head, "marker_epoch" if head.is_control else "producer_epoch")
        x = named[-1] if named else self._begun  # of nobody: that has not begun
        if head.is_control:
            commits = transaction_marker.read(batch.data).result is TxnResult.COMMIT
            decided = state["committed" if commits else "aborted", (x,)]
            again = state["marked", (x, t)] if named else False
            action = "write_marker_again" if again else "write_marker"
            return Call(action, (x if decided else self._begun, t))
        return Call("append", (x, t))

    def _named(self, of: Stamped, carries: str) -> list[int]:
        """The transactions whose records, or whose markers, carry this epoch of this producer."""
        state = self.behaviour.state
        if of.producer_id not in self._ids:
            return []
        p = self.producers[self._ids[of.producer_id]]
        return [
            x
            for x in range(self._begun)
            if state["begun", (x,)]
            and state["producer", (x,)] == p
            and state[carries, (x,)] == of.producer_epoch
        ]


def _concerns(traced: Traced, topic_partition: TopicPartition) -> bool:
    """The high watermark of the topic partition may move at such an event."""
    match traced.event:
        case RequestReceived(request=UpdateMetadata()):
            return True
        case RequestReceived(request=Fetch(topic_partition=about)):
            return about == topic_partition
        case ResponseReceived(response=AlteredPartition(topic_partition=about)):
            return about == topic_partition
        case TimerFired(timer):
            return timer.topic_partition == topic_partition
        case _:
            return False


def _coordinators(broker: Broker) -> Iterator[TransactionCoordinator]:
    for role in broker.local_coordinators.roles.values():
        if isinstance(role, TransactionCoordinator):
            yield role
