"""A simulated producer. It numbers its records, has up to five requests in flight, and retries.

A batch has the same sequence numbers in all retries under one producer epoch. While a batch waits
for its retry, the producer sends no new batch. In the history, each record in flight is a process
of its own.

The outcome of a send is `ok` with the record's offset, `fail` if the record was certainly not
written, and `info` otherwise. If the producer retries, a send ends at its acknowledgement, at its
delivery timeout, or at an error after which the producer sends nothing more.

After a delivery timeout, the producer does not know whether the leader has the batch. The producer
may then have to continue under a new producer epoch. The module `client_libraries` has the rules in
which the Java client and librdkafka differ: when they retry, when they give up, and when they take
a new producer epoch.

Source: KIP-98, KIP-360; docs/kafka-rules.md C7; in the Java client RecordAccumulator and
ProducerBatch (batches, linger, delivery timeout), Sender (retries) and TransactionManager; in
librdkafka rd_kafka_handle_Produce_error and rd_kafka_idemp_*.
Simplified: a send begins when its batch is full or has lingered, and its delivery timeout begins at
the same time. The first batch must be acknowledged before later batches are sent, because a leader
accepts any first sequence number of an unknown producer (KAFKA-15591).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from model.histories import Operation, Outcome
from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId
from reference_impl.log.record_batch import encode
from reference_impl.node.step import Input, ResponseReceived, Send, TimerFired
from reference_impl.protocol.controller import DescribedMetadata, Metadata
from reference_impl.protocol.messages import (
    ACKS_NONE,
    NO_BROKER,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.simulation.client_libraries import (
    MAY_BE_WRITTEN,
    NOT_WRITTEN,
    Follows,
    Moment,
)
from reference_impl.simulation.clients import (
    NS_PER_MS,
    ClientEffects,
    Leadership,
    Observed,
    next_tick,
)
from reference_impl.simulation.open_batches import OpenBatches
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.unacknowledged import Begun, Unacknowledged

PROCESSES_PER_CLIENT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """A simulated producer that sends records to one topic partition."""

    client_id: NodeId
    first_process: int
    config: ProducerConfig
    leadership: Leadership
    producer_id: ProducerId = NO_PRODUCER_ID
    waiting: tuple[str, ...] = ()  # values that no process has begun to send
    waiting_since_ns: int = 0  # when the first of them was passed, or an earlier batch was filled
    begun: OpenBatches = OpenBatches()  # noqa: RUF009 - it is frozen
    is_unresolved: bool = False  # it has to take a new epoch, at the moment of its library's rule
    is_draining: bool = False  # retries wait until no request is in flight
    producer_epoch: ProducerEpoch = ProducerEpoch(0)  # noqa: RUF009 - an int by another name
    last_invoked_ns: int = 0
    next_process: int = 0
    retired: tuple[int, ...] = ()  # processes whose last send has an unknown outcome
    correlation: int = 0
    id_wanted_since: int = 0  # correlation of the first request for the producer id
    acknowledged_any: bool = False
    over: ErrorCode | None = None  # why the session ended

    def send(self, now_ns: int, *values: str) -> tuple[Producer, ClientEffects]:
        """Adds the values to the queue, and sends as many batches as the limit of requests in
        flight permits.
        """
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
            case ResponseReceived(correlation=number, response=InitializedProducerId() as answer):
                is_wanted = self.producer_id == NO_PRODUCER_ID and number >= self.id_wanted_since
                if is_wanted and answer.error is ErrorCode.NONE:
                    return replace(self, producer_id=answer.producer_id)._pump(now_ns)
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
        """Returns the index in `begun` of the batch to send now.

        The index is the length of `begun` if the producer should begin a new batch. The result is
        None if no batch may be sent now.
        """
        lacks_id = self.config.idempotent and self.producer_id == NO_PRODUCER_ID
        if self.over is not None or lacks_id or self.leadership.leader == NO_BROKER:
            return None
        rules = self.config.library
        if self.is_draining or (self.is_unresolved and rules.new_epoch is Moment.DRAINED):
            return None
        for index, batch in enumerate(self.begun):
            if batch.awaits is None:
                rested_ns = now_ns - batch.changed_ns
                is_rested = rested_ns >= self.config.backoff_ms * NS_PER_MS
                is_next = index == 0 or rules.retries_when_drained
                return index if is_next and is_rested else None
        room = self.config.max_in_flight if self.acknowledged_any else 1
        may_begin = self.begun.has_room(room) and not self.is_unresolved
        # While a batch is being retried, no later batch is sent for the first time.
        may_begin &= rules.retries_when_drained or self.begun.none_is_retried
        return len(self.begun) if may_begin and self._has_batch(now_ns) else None

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
        sends = tuple(
            Begun(value, self._process(number), first_ns + later)
            for later, (value, number) in enumerate(zip(values, numbers, strict=True))
        )
        return replace(
            self,
            last_invoked_ns=sends[-1].invoked_ns,
            waiting=self.waiting[len(values) :],
            waiting_since_ns=now_ns,
            begun=self.begun.begin(sends),
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
            batches=batch.encoded(self.producer_id, self.producer_epoch)
            if self.config.idempotent
            else encode(batch.records),
            acks=self.config.acks,
            timeout_ms=self.config.replication_timeout_ms,
        )
        begun = self.begun.replaced(index, batch)
        producer = replace(self, begun=begun, correlation=self.correlation + 1)
        return producer, Send(NodeId(self.leadership.leader), self.correlation, request)

    # ------------------------------------------------------------ answers

    def _produced(
        self, now_ns: int, correlation: int, produced: Produced
    ) -> tuple[Producer, ClientEffects]:
        index = next((i for i, b in enumerate(self.begun) if b.awaits == correlation), None)
        if index is None or self.config.acks == ACKS_NONE:
            return self, ()  # of an attempt that has timed out, or an error that no client sees
        answered = replace(self.begun[index], answer=produced)
        producer = replace(self, begun=self.begun.replaced(index, answered))
        effects: ClientEffects = ()
        while (batch := producer._next_answered()) is not None:
            producer, more = producer._answered(now_ns, batch)
            effects += more
        producer, sent = producer._resolved(now_ns)._pump(now_ns)
        return producer, effects + sent

    def _next_answered(self) -> Unacknowledged | None:
        in_flight = self.begun.in_flight
        if self.config.library.reads_in_order:
            in_flight = tuple(sorted(in_flight, key=lambda batch: batch.awaits or 0)[:1])
        return next((batch for batch in in_flight if batch.answer is not None), None)

    def _answered(self, now_ns: int, batch: Unacknowledged) -> tuple[Producer, ClientEffects]:
        assert batch.answer is not None
        error = batch.answer.error
        if error is ErrorCode.NONE:
            return self._acknowledged(now_ns, batch, batch.answer.base_offset)
        index = self.begun.batches.index(batch)
        rules, retries = self.config.library, self.config.retries
        follows = rules.after(error, is_oldest=index == 0, retries=retries)
        match follows:
            case Follows.RETRY | Follows.NEW_EPOCH_LATER:
                is_unresolved = self.is_unresolved or follows is Follows.NEW_EPOCH_LATER
                resting = self._rested(index, now_ns, may_be_written=error in MAY_BE_WRITTEN)
                return replace(resting, is_unresolved=is_unresolved)._refreshing_leader()
            case Follows.NEW_EPOCH:
                return self._with_new_epoch(now_ns)._refreshing_leader()
            case Follows.NEW_PRODUCER:
                return self._with_new_id(now_ns, error)
            case Follows.END:
                producer, ended = self._end(now_ns, batch, error)
                if self.config.idempotent and self.config.retries:
                    # One sequence number is missing for good, so no later batch can be appended.
                    return replace(producer, over=error), ended
                producer, requests = producer._refreshing_leader()
                return producer, ended + requests

    def _acknowledged(
        self, now_ns: int, batch: Unacknowledged, base_offset: Offset | None
    ) -> tuple[Producer, ClientEffects]:
        index = self.begun.batches.index(batch)
        proves_earlier = self.config.idempotent and self.config.library.acknowledges_earlier
        earlier = self.begun.batches[:index] if proves_earlier else ()
        begun = self.begun
        operations: list[Operation] = []
        for one in (*earlier, batch):
            begun = begun.acknowledged(one)
            offset = base_offset if one is batch else None
            operations += one.operations(self._key, "ok", now_ns, offset)
        producer = replace(self, begun=begun, acknowledged_any=True)
        return producer, tuple(map(Observed, operations))

    # ------------------------------------------------------------ epochs and time-outs

    def _with_new_epoch(self, now_ns: int) -> Producer:
        # Kafka: TransactionManager.canRetry and bumpIdempotentProducerEpoch.
        return replace(
            self,
            begun=self.begun.renumbered(now_ns),
            is_unresolved=False,
            producer_epoch=ProducerEpoch(self.producer_epoch + 1),
        )

    def _with_new_id(self, now_ns: int, error: ErrorCode) -> tuple[Producer, ClientEffects]:
        """Returns the producer after a fatal error.

        Every open batch ends, and the producer requests a new producer id, as if the application
        created another producer.
        """
        producer = self
        effects: ClientEffects = ()
        for batch in self.begun:
            in_doubt = replace(batch, attempts=batch.attempts + 1, may_be_written=True)
            producer, ended = producer._end(now_ns, in_doubt, error)
            effects += ended
        restarted = replace(
            producer,
            begun=OpenBatches(),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=ProducerEpoch(0),
            id_wanted_since=self.correlation,
            acknowledged_any=False,
            is_unresolved=False,
            is_draining=False,
        )
        return restarted, effects

    def _without_expired(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        timeout_ms, rules = self.config.delivery_timeout_ms, self.config.library
        if timeout_ms is None:
            return self, ()
        producer = self
        effects: ClientEffects = ()
        for batch in self.begun:
            is_late = now_ns - batch.sends[0].invoked_ns >= timeout_ms * NS_PER_MS
            if is_late and (rules.times_out_in_flight or batch.awaits is None):
                producer, ended = producer._end(now_ns, batch, None)
                producer = replace(producer, is_unresolved=self.config.idempotent)
                effects += ended
        return producer._resolved(now_ns), effects

    def _resolved(self, now_ns: int) -> Producer:
        rules, is_drained = self.config.library, not self.begun.in_flight
        drained = replace(self, is_draining=self.is_draining and not is_drained)
        may_take = {
            Moment.DECIDED: not self.begun,
            Moment.DRAINED: is_drained,
            Moment.AT_ONCE: True,
        }
        if not self.is_unresolved or not may_take[rules.new_epoch]:
            return drained
        if self.begun.are_acknowledged and not rules.always_takes_new_epoch:
            return replace(drained, is_unresolved=False)
        return drained._with_new_epoch(now_ns)

    def _without_timed_out(self, now_ns: int) -> tuple[Producer, ClientEffects]:
        timeout_ns = self.config.request_timeout_ms * NS_PER_MS
        late = [one for one in self.begun.in_flight if now_ns - one.changed_ns >= timeout_ns]
        if late and self.config.library.reads_in_order:
            late = [*self.begun.in_flight]  # the client closes the connection
        producer = self
        effects: ClientEffects = ()
        for batch in late:
            if self.config.retries and self.config.acks != ACKS_NONE:
                index = producer.begun.batches.index(batch)
                producer = producer._rested(index, now_ns, may_be_written=True)
            else:
                producer, ended = producer._end(now_ns, batch, ErrorCode.NETWORK_EXCEPTION)
                effects += ended
            producer, requests = producer._refreshing_leader()
            effects += requests
        return producer._resolved(now_ns), effects

    def _rested(self, index: int, now_ns: int, *, may_be_written: bool) -> Producer:
        drains = self.config.idempotent and self.config.library.retries_when_drained
        begun = self.begun.rested(index, now_ns, may_be_written=may_be_written)
        return replace(self, begun=begun, is_draining=self.is_draining or drains)

    def _refreshing_leader(self) -> tuple[Producer, ClientEffects]:
        doubting = replace(self, leadership=replace(self.leadership, leader=NO_BROKER))
        return doubting._look_for_leader()

    def _end(
        self, now_ns: int, batch: Unacknowledged, error: ErrorCode | None
    ) -> tuple[Producer, ClientEffects]:
        """Ends the sends of a batch that is not acknowledged, with the outcome `fail` or `info`.

        If `error` is None, the delivery timeout of the batch is over.
        """
        is_refused = error in NOT_WRITTEN and batch.attempts == 1
        is_known = self.config.library.knows_unwritten and not batch.may_be_written
        is_certain = is_refused or (is_known and (error is None or error in NOT_WRITTEN))
        outcome: Outcome = "fail" if is_certain else "info"
        processes = () if is_certain else tuple(send.process for send in batch.sends)
        name = (error or ErrorCode.REQUEST_TIMED_OUT).name
        operations = batch.operations(self._key, outcome, now_ns, error=name)
        begun = self.begun.without(batch)
        producer = replace(self, begun=begun, retired=(*self.retired, *processes))
        return producer, tuple(map(Observed, operations))

    @property
    def _key(self) -> str:
        return str(self.leadership.topic_partition)

    def _process(self, number: int) -> int:
        return self.first_process + number
