"""The producer of a simulated program: it sends one record at a time. The producer can be
idempotent.

A retry has the same sequence number as the first attempt. The outcome of a send is `ok` with an
offset, `fail` if the record was certainly not written, and `info` otherwise.

Source: KIP-98; docs/kafka-rules.md C7.
Simplified: only one record is in flight. The producer in `reference_impl.simulation.producer` has
up to five requests in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from model.histories import Send as Sent
from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, TopicPartition
from model.vocabulary import Sequence as SequenceNumber
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import (
    ACKS_ALL,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    Produce,
    Produced,
)
from reference_impl.simulation.broker_client import BrokerClient, error_of
from reference_impl.simulation.client_libraries import NOT_WRITTEN
from reference_impl.simulation.programs import Application, Call, Steps

REPLICATION_MS: Final = 200


@dataclass(slots=True, kw_only=True)
class Sender:
    """A producer without transactions. It uses one producer id for all its sends."""

    app: Application
    brokers: BrokerClient
    acks: int = ACKS_ALL
    idempotent: bool = True
    attempts: int | None = None  # of each send; None: until it is acknowledged
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = ProducerEpoch(0)  # noqa: RUF009 - an int by another name
    _sequences: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])

    def send(self, topic_partition: TopicPartition, value: str) -> Steps[Offset | None]:
        """Sends a record, and returns its offset. The result is None if no attempt is
        acknowledged.
        """
        if self.idempotent and self.producer_id == NO_PRODUCER_ID:
            yield from self._init_producer_id()
        key = str(topic_partition)
        self.app.begin("send", Sent(key, value))
        request = Produce(
            topic_partition=topic_partition,
            batches=self._encoded(topic_partition, value),
            acks=self.acks,
            timeout_ms=REPLICATION_MS,
        )
        answer = yield from self.brokers.call_leader(
            topic_partition, request, attempts=self.attempts
        )
        if isinstance(answer, Produced) and answer.error is ErrorCode.NONE:
            self._sequences[topic_partition] = self._sequences.get(topic_partition, 0) + 1
            self.app.end("ok", Sent(key, value, answer.base_offset), instead=True)
            return answer.base_offset
        error = error_of(answer)
        certain = self.attempts == 1 and error in NOT_WRITTEN
        self.app.end("fail" if certain else "info", error=error.name)
        return None

    def _init_producer_id(self) -> Steps[None]:
        while self.producer_id == NO_PRODUCER_ID:
            answer = yield Call(self.brokers.any_broker(), InitProducerId())
            if isinstance(answer, InitializedProducerId) and answer.error is ErrorCode.NONE:
                self.producer_id = answer.producer_id
                self.producer_epoch = answer.producer_epoch

    def _encoded(self, topic_partition: TopicPartition, value: str) -> bytes:
        record = Record(value=value.encode(), timestamp_ms=self.app.now_ms)
        if not self.idempotent:
            return encode([record])
        return encode(
            [record],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=SequenceNumber(self._sequences.get(topic_partition, 0)),
        )
