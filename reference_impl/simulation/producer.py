"""A simulated producer: numbers its records, keeps up to five requests in flight, and retries.

A batch has the same sequence numbers in all retries. No new batch is sent while one waits for its
retry. In the history each record in flight is a process of its own.

A send is `ok` with the record's offset, `fail` if the record was certainly not written, otherwise
`info`. With retries, it ends with its acknowledgement, at its delivery timeout, or with an error
after which the producer sends nothing more.

After a delivery timeout nobody knows if the leader has the batch. The producer sends no new batch
until the open ones are decided. Then it goes on under a new epoch, unless the leader has
acknowledged the last sequence number.

Source: KIP-98, KIP-360; docs/kafka-rules.md C7; in the Java client RecordAccumulator and
ProducerBatch (batches, linger, delivery timeout), Sender (retries) and TransactionManager
(`markSequenceUnresolved`, `maybeResolveSequences`, `bumpIdempotentProducerEpoch`).
Simplified: a send begins when its batch is full or has lingered, so its delivery timeout does too;
the first batch must be acknowledged before others are in flight, because a leader accepts any first
sequence number of an unknown producer (KAFKA-15591).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from model.histories import Operation, Outcome
from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record_batch import encode
from reference_impl.node.step import Input, ResponseReceived, Send, TimerFired
from reference_impl.protocol.controller import DescribedMetadata, Metadata
from reference_impl.protocol.messages import (
    ACKS_ALL,
    ACKS_NONE,
    NO_BROKER,
    RETRIABLE,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.simulation.clients import (
    NS_PER_MS,
    ClientEffects,
    Leadership,
    Observed,
    next_tick,
)
from reference_impl.simulation.unacknowledged import Begun, Unacknowledged

# Errors after which the record is certainly not in the log, unless an earlier attempt wrote it.
NOT_WRITTEN: Final = frozenset({
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_RECORD,
})  # fmt: skip
PROCESSES_PER_CLIENT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """Raises ValueError if `max_in_flight` is above 5, the number of batches that a broker
    remembers, or if an idempotent producer with a delivery timeout takes no new epoch.
    """

    acks: int = ACKS_ALL
    idempotent: bool = True
    retries: bool = True
    max_in_flight: int = 5
    request_timeout_ms: int = 300
    replication_timeout_ms: int = 200
    backoff_ms: int = 20
    takes_new_epoch: bool = False  # as Kafka's client, if its oldest batch is out of order
    batch_records: int = 1  # the most records of a batch
    linger_ms: int = 0  # a batch that is not full waits so long for more records
    delivery_timeout_ms: int | None = None  # of a batch; None: it is retried until it is decided

    def __post_init__(self) -> None:
        if not 1 <= self.max_in_flight <= 5:
            raise ValueError(f"max_in_flight is {self.max_in_flight}; it must be 1 to 5")
        if self.delivery_timeout_ms is not None and self.idempotent and not self.takes_new_epoch:
            raise ValueError("delivery_timeout_ms needs takes_new_epoch if idempotent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """A producer session on one topic partition."""

    client_id: NodeId
    first_process: int
    config: ProducerConfig
    leadership: Leadership
    producer_id: ProducerId = NO_PRODUCER_ID
    waiting: tuple[str, ...] = ()  # values that no process has begun to send
    waiting_since_ns: int = 0  # when the first of them was passed, or an earlier batch was filled
    begun: tuple[Unacknowledged, ...] = ()  # in the order of their sequence numbers
    next_number: int = 0  # of a batch
    next_sequence: Sequence = Sequence(0)  # noqa: RUF009 - an int by another name
    acknowledged_end: int = 0  # the sequence number after the last acknowledged one
    is_unresolved: bool = False  # a delivery timeout left a sequence number undecided
    producer_epoch: ProducerEpoch = ProducerEpoch(0)  # noqa: RUF009 - the same
    last_invoked_ns: int = 0
    next_process: int = 0
    retired: tuple[int, ...] = ()  # processes whose last send has an unknown outcome
    correlation: int = 0
    acknowledged_any: bool = False
    over: ErrorCode | None = None  # why the session ended

    def send(self, now_ns: int, *values: str) -> tuple[Producer, ClientEffects]:
        """Queues the values, and sends as many as the limit of requests in flight permits."""
        since_ns = self.waiting_since_ns if self.waiting else now_ns
        more = replace(self, waiting=self.waiting + values, waiting_since_ns=since_ns)
        return more._pump(now_ns)

    def step(self, now_ns: int, event: Input) -> tuple[Producer, ClientEffects]:
        match event:
            case TimerFired():
                producer, expired = self._without_expired(now_ns)
                producer, ended = producer._without_timed_out(now_ns)
                producer, sent = producer._request(now_ns)
                return producer, (*expired, *ended, *sent, next_tick(now_ns))
            case ResponseReceived(response=DescribedMetadata(image=image)):
                return replace(self, leadership=self.leadership.learn(image))._pump(now_ns)
            case ResponseReceived(response=InitializedProducerId() as initialized):
                if self.producer_id == NO_PRODUCER_ID and initialized.error is ErrorCode.NONE:
                    return replace(self, producer_id=initialized.producer_id)._pump(now_ns)
            case ResponseReceived(correlation=correlation, response=Produced() as produced):
                return self._produced(now_ns, correlation, produced)
            case _:
                pass
        return self, ()

    @property
    def idle(self) -> bool:
        return self.over is not None or not (self.waiting or self.begun)

    def unfinished(self) -> tuple[Operation, ...]:
        return tuple(
            operation
            for batch in self.begun
            for operation in batch.operations(self._key, "info", None, error="no acknowledgement")
        )

    # ------------------------------------------------------------ sending

    def _request(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        if self.over is not None or not (self.waiting or self.begun):
            return self, ()
        if self.config.idempotent and self.producer_id == NO_PRODUCER_ID:
            leadership, broker = self.leadership.next_broker()
            producer = replace(self, leadership=leadership, correlation=self.correlation + 1)
            requests: ClientEffects = (Send(broker, self.correlation, InitProducerId()),)
        elif self.leadership.leader == NO_BROKER:
            producer, requests = self._look_for_leader()
        else:
            producer, requests = self, ()
        producer, sent = producer._pump(now_ns)
        return producer, requests + sent

    def _look_for_leader(self) -> tuple[Producer, ClientEffects]:
        leadership, broker = self.leadership.next_broker()
        producer = replace(self, leadership=leadership, correlation=self.correlation + 1)
        return producer, (Send(broker, self.correlation, Metadata()),)

    def _pump(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        producer = self
        effects: list[Send] = []
        while (index := producer._next_to_send(now_ns)) is not None:
            if index == len(producer.begun):
                producer = producer._begin(now_ns)
            producer, request = producer._attempt(index, now_ns)
            effects.append(request)
        return producer, tuple(effects)

    def _next_to_send(self, now_ns: int) -> int | None:
        """The index in `begun` of the batch to send now, the length of `begun` for a new batch, or
        None.
        """
        lacks_id = self.config.idempotent and self.producer_id == NO_PRODUCER_ID
        if self.over is not None or lacks_id or self.leadership.leader == NO_BROKER:
            return None
        for index, batch in enumerate(self.begun):
            if batch.awaits is None:
                rested_ns = now_ns - batch.changed_ns
                is_rested = rested_ns >= self.config.backoff_ms * NS_PER_MS
                return index if index == 0 and is_rested else None
        room = self.config.max_in_flight if self.acknowledged_any else 1
        # A broker remembers five batches, so at most five may have an unknown outcome. TCP ensures
        # that: a lost response closes the connection, and later requests on it are unknown too.
        oldest = self.begun[0].number if self.begun else self.next_number
        has_room = self.next_number - oldest < room and not self.is_unresolved
        # While a batch is being retried, no later batch is sent for the first time.
        none_is_retried = all(batch.attempts == 1 for batch in self.begun)
        return len(self.begun) if has_room and none_is_retried and self._has_batch(now_ns) else None

    def _has_batch(self, now_ns: int) -> bool:
        lingered_ns = now_ns - self.waiting_since_ns
        is_full = len(self.waiting) >= self.config.batch_records
        return is_full or (bool(self.waiting) and lingered_ns >= self.config.linger_ms * NS_PER_MS)

    def _begin(self, now_ns: int) -> Producer:
        values = self.waiting[: self.config.batch_records]
        busy = {*self.retired, *(send.process for batch in self.begun for send in batch.sends)}
        free = [number for number in range(self.next_process) if self._process(number) not in busy]
        new = range(self.next_process, self.next_process + len(values))
        numbers = (*free, *new)[: len(values)]
        # Simultaneous sends begin one after the other, and after the event that caused them.
        first_ns = max(now_ns, self.last_invoked_ns) + 1
        batch = Unacknowledged(
            sends=tuple(
                Begun(value, self._process(number), first_ns + later)
                for later, (value, number) in enumerate(zip(values, numbers, strict=True))
            ),
            number=self.next_number,
            sequence=self.next_sequence,
        )
        return replace(
            self,
            last_invoked_ns=batch.sends[-1].invoked_ns,
            waiting=self.waiting[len(values) :],
            waiting_since_ns=now_ns,
            begun=(*self.begun, batch),
            next_number=self.next_number + 1,
            next_sequence=Sequence(self.next_sequence + len(values)),
            next_process=max(self.next_process, numbers[-1] + 1),
        )

    def _attempt(self, index: int, now_ns: int) -> tuple[Producer, Send]:
        batch = replace(
            self.begun[index],
            attempts=self.begun[index].attempts + 1,
            awaits=self.correlation,
            changed_ns=now_ns,
        )
        request = Produce(
            topic_partition=self.leadership.topic_partition,
            batches=self._encoded(batch),
            acks=self.config.acks,
            timeout_ms=self.config.replication_timeout_ms,
        )
        begun = (*self.begun[:index], batch, *self.begun[index + 1 :])
        producer = replace(self, begun=begun, correlation=self.correlation + 1)
        return producer, Send(NodeId(self.leadership.leader), self.correlation, request)

    def _encoded(self, batch: Unacknowledged) -> bytes:
        if not self.config.idempotent:
            return encode(batch.records)
        return encode(
            batch.records,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=batch.sequence,
        )

    # ------------------------------------------------------------ answers

    def _produced(
        self, now_ns: int, correlation: int, produced: Produced
    ) -> tuple[Producer, ClientEffects]:
        index = next((i for i, b in enumerate(self.begun) if b.awaits == correlation), None)
        if index is None or self.config.acks == ACKS_NONE:
            return self, ()  # of an attempt that has timed out, or an error that no client sees
        batch = self.begun[index]
        if produced.error is ErrorCode.NONE:
            operations = batch.operations(self._key, "ok", now_ns, produced.base_offset)
            end = max(self.acknowledged_end, batch.sequence + len(batch.sends))
            acknowledged = replace(
                self._without(batch), acknowledged_any=True, acknowledged_end=end
            )
            producer, sent = acknowledged._resolved(now_ns)._pump(now_ns)
            return producer, (*map(Observed, operations), *sent)
        # An earlier batch is missing because it is still in flight: retry this one after it.
        follows = produced.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and index > 0
        if self.config.retries and (follows or produced.error in RETRIABLE):
            rested = replace(batch, awaits=None, changed_ns=now_ns)
            return self._with(index, rested)._refreshing_leader()
        is_lost = produced.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self.config.takes_new_epoch and is_lost:
            return self._with_new_epoch(now_ns)._refreshing_leader()
        producer, ended = self._end(now_ns, batch, produced.error)
        if self.config.idempotent and self.config.retries:
            # One sequence number is missing for good, so no later batch can be appended.
            return replace(producer, over=produced.error), ended
        producer, requests = producer._refreshing_leader()
        return producer, ended + requests

    def _with_new_epoch(self, now_ns: int) -> Producer:
        # Kafka: TransactionManager.canRetry and bumpIdempotentProducerEpoch.
        again: list[Unacknowledged] = []
        following = 0
        for number, batch in enumerate(self.begun):
            first = Sequence(following)
            again.append(
                replace(batch, number=number, sequence=first, awaits=None, changed_ns=now_ns)
            )
            following += len(batch.sends)
        return replace(
            self,
            begun=tuple(again),
            next_number=len(again),
            next_sequence=Sequence(following),
            acknowledged_end=0,
            is_unresolved=False,
            producer_epoch=ProducerEpoch(self.producer_epoch + 1),
        )

    def _without_expired(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        timeout_ms = self.config.delivery_timeout_ms
        if timeout_ms is None:
            return self, ()
        producer = self
        effects: ClientEffects = ()
        for batch in self.begun:
            if now_ns - batch.sends[0].invoked_ns >= timeout_ms * NS_PER_MS:
                producer, ended = producer._end(now_ns, batch, ErrorCode.REQUEST_TIMED_OUT)
                producer = replace(producer, is_unresolved=self.config.idempotent)
                effects += ended
        return producer._resolved(now_ns), effects

    def _resolved(self, now_ns: int) -> Producer:
        # Kafka: TransactionManager.maybeResolveSequences.
        if not self.is_unresolved or self.begun:
            return self
        if self.acknowledged_end == self.next_sequence:
            return replace(self, is_unresolved=False)
        return self._with_new_epoch(now_ns)

    def _without_timed_out(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        timeout_ns = self.config.request_timeout_ms * NS_PER_MS
        producer = self
        effects: ClientEffects = ()
        for batch in self.begun:
            if batch.awaits is None or now_ns - batch.changed_ns < timeout_ns:
                continue
            if self.config.retries and self.config.acks != ACKS_NONE:
                index = producer.begun.index(batch)
                producer = producer._with(index, replace(batch, awaits=None, changed_ns=now_ns))
            else:
                producer, ended = producer._end(now_ns, batch, ErrorCode.NETWORK_EXCEPTION)
                effects += ended
            producer, requests = producer._refreshing_leader()
            effects += requests
        return producer, effects

    def _refreshing_leader(self) -> tuple[Producer, ClientEffects]:
        doubting = replace(self, leadership=replace(self.leadership, leader=NO_BROKER))
        return doubting._look_for_leader()

    def _end(
        self, now_ns: int, batch: Unacknowledged, error: ErrorCode
    ) -> tuple[Producer, ClientEffects]:
        is_certain = error in NOT_WRITTEN and batch.attempts == 1
        outcome: Outcome = "fail" if is_certain else "info"
        processes = () if is_certain else tuple(send.process for send in batch.sends)
        operations = batch.operations(self._key, outcome, now_ns, error=error.name)
        producer = replace(self._without(batch), retired=(*self.retired, *processes))
        return producer, tuple(map(Observed, operations))

    def _with(self, index: int, batch: Unacknowledged) -> Producer:
        return replace(self, begun=(*self.begun[:index], batch, *self.begun[index + 1 :]))

    def _without(self, batch: Unacknowledged) -> Producer:
        return replace(self, begun=tuple(other for other in self.begun if other is not batch))

    @property
    def _key(self) -> str:
        return str(self.leadership.topic_partition)

    def _process(self, number: int) -> int:
        return self.first_process + number
