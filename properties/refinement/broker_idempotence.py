"""Maps one topic partition of the reference broker to a behaviour of the abstract idempotent
producer.

The variables of the spec get their values from the brokers. Each row has variables of the spec, and
the part of the brokers' state that gives them their values:

    stamp, end_offset   the log of the leader of the latest leader epoch that has begun
    high_watermark      the highest high watermark that any leader had
    acked               the records that were acknowledged to clients, each at the offset in its
                        acknowledgement

A *stamp* is the producer, the producer epoch and the sequence number of a record. Each marker gets
a producer number of its own, and so does each record without a producer id or sequence number. If a
new leader has records that the previous leader lacked, the spec appends these records after the
change of leader. The producer state of a leader must agree with the leader's log.

Source: KIP-98, KIP-360; `model.idempotence_abstract.versions`.
Simplified: a record counts as acknowledged when the client receives the acknowledgement, and only
if the client sent the record with acks=all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple, Self

from model.idempotence_abstract.versions import IdempotentProducer
from model.language.interpreter import Cell, Value
from model.vocabulary import ProducerId, TopicPartition
from properties.refinement.behaviour import Behaviour, Call, as_int
from properties.refinement.log_entries import SIGNED_FROM
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.broker.broker import Broker
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import CorruptBatch, header
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import ACKS_ALL, ErrorCode, NodeId, Produce, Produced
from reference_impl.simulation.trace import Traced


class Stamp(NamedTuple):
    """The identity of a record in the spec: producer number, producer epoch, sequence number."""

    producer: int
    producer_epoch: int
    sequence: int


@dataclass(slots=True)
class Stamps:
    """Translates each record to its `Stamp`, in which the producer is a number. Producers are
    numbered in the order in which they first appear.
    """

    numbers: dict[ProducerId | bytes, int] = field(default_factory=dict[ProducerId | bytes, int])
    known: dict[bytes, tuple[Stamp, ...]] = field(default_factory=dict[bytes, tuple[Stamp, ...]])

    def of(self, batch: bytes) -> tuple[Stamp, ...]:
        if batch not in self.known:
            head = header(batch)
            is_numbered = head.base_sequence >= 0 and not head.is_control
            deltas = range(head.last_offset_delta + 1)
            self.known[batch] = tuple(
                Stamp(self._number(head.producer_id), head.producer_epoch, head.base_sequence + k)
                if is_numbered
                else Stamp(self._number(batch[SIGNED_FROM:] + bytes([k])), 0, 0)
                for k in deltas
            )
        return self.known[batch]

    def _number(self, producer: ProducerId | bytes) -> int:
        return self.numbers.setdefault(producer, len(self.numbers))

    def in_log(self, log: PartitionLog) -> dict[int, Stamp]:
        return {
            batch.header.base_offset + k: stamp
            for batch in log.batches()
            for k, stamp in enumerate(self.of(batch.data))
        }


@dataclass(slots=True)
class BrokerIdempotence:
    """Maps events of a run on one topic partition to actions of the spec `idempotence-abstract`."""

    topic_partition: TopicPartition
    behaviour: Behaviour
    _stamps: Stamps
    _leader_epoch: int = -1  # of the leader whose log is mapped
    _held: dict[NodeId, Leader] = field(default_factory=dict[NodeId, Leader])
    _sent: dict[tuple[NodeId, int], tuple[Stamp, ...]] = field(
        default_factory=dict[tuple[NodeId, int], tuple[Stamp, ...]]
    )

    @classmethod
    def of(cls, topic_partition: TopicPartition, events: Sequence[Traced]) -> BrokerIdempotence:
        stamps = Stamps()
        logs = {id(r.log): r.log for e in events for r in [_leader(e.after, topic_partition)] if r}
        seen = [s for log in logs.values() for b in log.batches() for s in stamps.of(b.data)]
        seen += [
            s for e in events for sent in [_produced(e, topic_partition, stamps)] for s in sent
        ]
        behaviour = Behaviour.initial(
            IdempotentProducer(),
            {
                "Producer": max(len(stamps.numbers), 1),
                "ProducerEpoch": max((s.producer_epoch for s in seen), default=0) + 2,
                "Sequence": max((s.sequence for s in seen), default=0) + 2,
                "Offset": max((log.end_offset for log in logs.values()), default=0) + 2,
            },
            (0,),
        )
        return cls(topic_partition, behaviour, stamps)

    @property
    def elements(self) -> dict[str, list[str]]:
        names = (
            "no producer id" if isinstance(p, bytes) else f"producer {p}"
            for p in self._stamps.numbers
        )
        return {"Producer": [*names]}

    def fork(self) -> Self:
        return replace(
            self, behaviour=self.behaviour.fork(), _held=dict(self._held), _sent=dict(self._sent)
        )

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        if isinstance(traced.after, Broker):
            sent = _produced(traced, self.topic_partition, self._stamps)
            if sent and isinstance(traced.event, RequestReceived):
                self._sent[traced.event.sender, traced.event.correlation] = sent
            return self._leads(traced.node, _leader(traced.after, self.topic_partition))
        return self._acknowledged(traced)

    # ---- the log

    def _leads(self, node: NodeId, leader: Leader | None) -> ExpectedStep | None:
        before = self._held.get(node)
        if leader is None or leader is before:
            return None
        self._held[node] = leader
        if before is not None and (before.log, before.producers) == (leader.log, leader.producers):
            return None
        calls: list[Call] = []
        cells: dict[Cell, Value] = {}
        if leader.state.leader_epoch >= self._leader_epoch:
            log = self._stamps.in_log(leader.log)
            calls += self._writes(leader, log)
            cells = self._cells(leader, log)
            self._leader_epoch = leader.state.leader_epoch
        state, mark = self.behaviour.state, leader.log.high_watermark
        if mark > as_int(state["high_watermark", ()]):
            calls.append(Call("advance_high_watermark", (mark,)))
        return ExpectedStep(
            calls=tuple(calls), cells=cells, at_least={("high_watermark", ()): mark}
        )

    def _writes(self, leader: Leader, log: dict[int, Stamp]) -> Iterator[Call]:
        end = as_int(self.behaviour.state["end_offset", ()])
        if leader.state.leader_epoch > self._leader_epoch >= 0:
            deleted = leader.log.log_start
            shared = takewhile(lambda o: o < deleted or self._at(o) == log.get(o), range(end))
            end = sum(1 for _ in shared)
            yield Call("change_leader", (end,))
        latest = {stamp.producer: o for o in range(end) for stamp in [self._at(o)]}
        for offset in (o for o in log if o >= end):
            stamp = log[offset]
            producer, at = stamp.producer, latest.get(stamp.producer)
            before = None if at is None else log.get(at, self._at(at))
            latest[producer] = offset
            if before is None or at is None or before.producer_epoch != stamp.producer_epoch:
                yield Call("append_first", (producer, stamp.producer_epoch, offset + 1))
            else:
                yield Call("append_next", (producer, stamp.sequence, at, offset + 1))

    def _at(self, offset: int) -> Stamp:
        state = self.behaviour.state
        return Stamp(*(as_int(state[f"stamp.{name}", (offset,)]) for name in Stamp._fields))

    def _cells(self, leader: Leader, log: dict[int, Stamp]) -> dict[Cell, Value]:
        cells: dict[Cell, Value] = {("end_offset", ()): leader.log.end_offset}
        for offset, stamp in log.items():
            cells |= _stamped(offset, stamp)
        for producer_id, known in leader.producers.producers.items():
            for batch in known.batches[-1:]:
                producer = self._stamps.numbers.get(producer_id, -1)
                remembered = Stamp(producer, known.producer_epoch, batch.last_sequence)
                cells |= _stamped(batch.next_offset - 1, remembered)
        return cells

    # ---- acknowledgements

    def _acknowledged(self, traced: Traced) -> ExpectedStep | None:
        match traced.event:
            case ResponseReceived(
                correlation=correlation, response=Produced(error=ErrorCode.NONE) as response
            ):
                sent = self._sent.get((traced.node, correlation), ())
                calls = [Call("acknowledge", (response.base_offset + k,)) for k in range(len(sent))]
                cells: dict[Cell, Value] = {("acked", tuple(stamp)): True for stamp in sent}
                for k, stamp in enumerate(sent):
                    cells |= _stamped(response.base_offset + k, stamp)
                return ExpectedStep(calls=tuple(calls), cells=cells) if sent else None
            case _:
                return None


def _leader(node: object, topic_partition: TopicPartition) -> Leader | None:
    replica = node.replicas.get(topic_partition) if isinstance(node, Broker) else None
    return replica if isinstance(replica, Leader) else None


def _produced(traced: Traced, topic_partition: TopicPartition, stamps: Stamps) -> tuple[Stamp, ...]:
    match traced.event:
        case RequestReceived(request=Produce(topic_partition=written, acks=acks, batches=data)):
            if written != topic_partition or acks != ACKS_ALL:
                return ()
            try:
                return tuple(stamp for batch in batches(data) for stamp in stamps.of(batch))
            except CorruptBatch:
                return ()  # the broker refuses it
        case _:
            return ()


def _stamped(offset: int, stamp: Stamp) -> dict[Cell, Value]:
    return {
        (f"stamp.{name}", (offset,)): value
        for name, value in zip(Stamp._fields, stamp, strict=True)
    }
