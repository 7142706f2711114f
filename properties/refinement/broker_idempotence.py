"""One topic partition of the reference broker as a behaviour of the abstract idempotent producer.

    stamp, end_offset   the log of the leader of the latest epoch that has begun
    high_watermark      the largest that any leader had: of a history, the committed beginning
    acked               what clients were told, at the offset at which they were told it

A new leader may have records that were out of sight since some leader of the past appended them: a
change of leader, then appends, as if they came again. What a leader remembers of a producer is the
stamp at the offset that it remembers, or the run is no behaviour.

Records without producer or sequence number, and markers, are each of a producer of its own.

Source: KIP-98, KIP-360; `model.idempotence_abstract.versions`.
Simplified: an acknowledgement counts when it has arrived, and only with acks=all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple, Self

from model.idempotence_abstract.versions import IdempotentProducer
from model.language.interpreter import Cell, Value
from model.vocabulary import ProducerId, TopicPartition
from properties.refinement.behaviour import Behaviour, Call
from properties.refinement.log_entries import SIGNED_FROM
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.broker.broker import Broker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import CorruptBatch, batches, header
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import ACKS_ALL, ErrorCode, NodeId, Produce, Produced
from reference_impl.simulation.trace import Traced


class Stamp(NamedTuple):
    """What a record carries of its producer, numbered as the spec has it."""

    producer: int
    producer_epoch: int
    sequence: int


@dataclass(slots=True)
class Stamps:
    """The numbers of producers: one for each producer id, and for each record without."""

    numbers: dict[ProducerId | bytes, int] = field(default_factory=dict[ProducerId | bytes, int])
    known: dict[bytes, tuple[Stamp, ...]] = field(default_factory=dict[bytes, tuple[Stamp, ...]])

    def of(self, batch: bytes) -> tuple[Stamp, ...]:
        """The stamps of the records of a batch, in their order."""
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
        """The stamps of a log, by their offsets."""
        return {
            batch.header.base_offset + k: stamp
            for batch in log.batches()
            for k, stamp in enumerate(self.of(batch.data))
        }


@dataclass(slots=True)
class BrokerIdempotence:
    """The topic partition, as far as the run has come."""

    topic_partition: TopicPartition
    behaviour: Behaviour
    _stamps: Stamps
    _leader_epoch: int = -1  # of the leader whose log it is
    _held: dict[NodeId, Leader] = field(default_factory=dict[NodeId, Leader])
    _sent: dict[tuple[NodeId, int], tuple[Stamp, ...]] = field(
        default_factory=dict[tuple[NodeId, int], tuple[Stamp, ...]]
    )

    @classmethod
    def of(cls, topic_partition: TopicPartition, events: Sequence[Traced]) -> BrokerIdempotence:
        """The spec at the size of the run and one more, its log empty."""
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

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(
            self, behaviour=self.behaviour.fork(), _held=dict(self._held), _sent=dict(self._sent)
        )

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        """The actions that make the step, and what the spec's state has to be after them."""
        if isinstance(traced.after, Broker):
            sent = _produced(traced, self.topic_partition, self._stamps)
            if sent and isinstance(traced.event, RequestReceived):
                self._sent[traced.event.sender, traced.event.correlation] = sent
            return self._leads(traced.node, _leader(traced.after, self.topic_partition))
        return self._told(traced)

    # ---- the log

    def _leads(self, node: NodeId, leader: Leader | None) -> ExpectedStep | None:
        before = self._held.get(node)
        if leader is None or leader is before:
            return None
        self._held[node] = leader
        if before is not None and (before.log, before.producers) == (leader.log, leader.producers):
            return None
        calls: list[Call] = []
        shows: dict[Cell, Value] = {}
        if leader.state.leader_epoch >= self._leader_epoch:
            log = self._stamps.in_log(leader.log)
            calls += self._writes(leader, log)
            shows = self._shows(leader, log)
            self._leader_epoch = leader.state.leader_epoch
        state, mark = self.behaviour.state, leader.log.high_watermark
        if mark > _int(state["high_watermark", ()]):
            calls.append(Call("advance_high_watermark", (mark,)))
        return ExpectedStep(
            calls=tuple(calls), shows=shows, at_least={("high_watermark", ()): mark}
        )

    def _writes(self, leader: Leader, log: dict[int, Stamp]) -> Iterator[Call]:
        """A leader appends; a new one begins with what it shares with the log of before."""
        end = _int(self.behaviour.state["end_offset", ()])
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
        return Stamp(*(_int(state[f"stamp.{name}", (offset,)]) for name in Stamp._fields))

    def _shows(self, leader: Leader, log: dict[int, Stamp]) -> dict[Cell, Value]:
        shows: dict[Cell, Value] = {("end_offset", ()): leader.log.end_offset}
        for offset, stamp in log.items():
            shows |= _stamped(offset, stamp)
        for producer_id, known in leader.producers.producers.items():
            for batch in known.batches[-1:]:
                producer = self._stamps.numbers.get(producer_id, -1)
                remembered = Stamp(producer, known.producer_epoch, batch.last_sequence)
                shows |= _stamped(batch.next_offset - 1, remembered)
        return shows

    # ---- what clients hold

    def _told(self, traced: Traced) -> ExpectedStep | None:
        """The records that the client sent are where it is told that they are, and committed."""
        match traced.event:
            case ResponseReceived(
                correlation=correlation, response=Produced(error=ErrorCode.NONE) as told
            ):
                sent = self._sent.get((traced.node, correlation), ())
                calls = [Call("acknowledge", (told.base_offset + k,)) for k in range(len(sent))]
                shows: dict[Cell, Value] = {("acked", tuple(stamp)): True for stamp in sent}
                for k, stamp in enumerate(sent):
                    shows |= _stamped(told.base_offset + k, stamp)
                return ExpectedStep(calls=tuple(calls), shows=shows) if sent else None
            case _:
                return None


def _leader(node: object, topic_partition: TopicPartition) -> Leader | None:
    replica = node.replicas.get(topic_partition) if isinstance(node, Broker) else None
    return replica if isinstance(replica, Leader) else None


def _produced(traced: Traced, topic_partition: TopicPartition, stamps: Stamps) -> tuple[Stamp, ...]:
    """The records that a broker is sent with acks=all."""
    match traced.event:
        case RequestReceived(request=Produce(topic_partition=asked, acks=acks, batches=data)):
            if asked != topic_partition or acks != ACKS_ALL:
                return ()
            try:
                return tuple(stamp for batch in batches(data) for stamp in stamps.of(batch))
            except CorruptBatch:
                return ()  # it is refused
        case _:
            return ()


def _stamped(offset: int, stamp: Stamp) -> dict[Cell, Value]:
    return {
        (f"stamp.{name}", (offset,)): value
        for name, value in zip(Stamp._fields, stamp, strict=True)
    }


def _int(value: Value) -> int:
    assert value is not None
    return int(value)
