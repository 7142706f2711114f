"""The topic partition that broker 1 follows and broker 2 leads, and logs of its records."""

from __future__ import annotations

from model.vocabulary import (
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    Sequence,
    TopicPartition,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.controller import PartitionState

TP = TopicPartition("orders", 0)
STATE = PartitionState(
    replicas=(BrokerId(1), BrokerId(2)),
    isr=(BrokerId(1), BrokerId(2)),
    leader=BrokerId(2),
    leader_epoch=LeaderEpoch(5),
    partition_epoch=PartitionEpoch(9),
)


def batch(offset: int, leader_epoch: int) -> bytes:
    return encode(
        [Record(value=b"v")],
        base_offset=Offset(offset),
        leader_epoch=LeaderEpoch(leader_epoch),
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(offset),
    )


def log_of(*leader_epochs: int, high_watermark: int = 0) -> PartitionLog:
    """Returns a log with one record of each leader epoch; all are records of producer 7."""
    log = PartitionLog()
    for offset, leader_epoch in enumerate(leader_epochs):
        log = log.append(Batch.of(batch(offset, leader_epoch)))
    return log.with_high_watermark(Offset(high_watermark))
