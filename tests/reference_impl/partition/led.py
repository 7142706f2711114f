"""A leader of a topic partition with two followers, and the requests that tests send to it."""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import (
    BrokerEpoch,
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
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import Effects, Reply, Send
from reference_impl.partition.leader import Leader, become_leader
from reference_impl.protocol.controller import (
    AlterPartition,
    PartitionState,
)
from reference_impl.protocol.messages import (
    ACKS_ALL,
    FIRST_CLIENT,
    Fetch,
    Produce,
)
from tests.reference_impl.contexts import BROKER_1, registered

TP = TopicPartition("orders", 0)
CLIENT = Requester(FIRST_CLIENT, 7)
TIMEOUTS = BrokerSettings()


def context(
    now_ms: int = 0, *, bugs: Bugs = NO_BUGS, fenced: tuple[int, ...] = (), correlation: int = 1
) -> Context:
    brokers = registered(1, 2, 3, fenced=fenced)
    return replace(BROKER_1, now_ms=now_ms, brokers=brokers, correlation=correlation, bugs=bugs)


def state(isr: tuple[int, ...] = (1, 2, 3), min_isr: int = 2, version: int = 0) -> PartitionState:
    return PartitionState(
        replicas=tuple(map(BrokerId, (1, 2, 3))),
        isr=tuple(map(BrokerId, isr)),
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(5),
        partition_epoch=PartitionEpoch(version),
        min_insync_replicas=min_isr,
    )


def stored(records: int, *, leader_epoch: int = 4, high_watermark: int = 0) -> PartitionLog:
    log = PartitionLog()
    for offset in range(records):
        data = encode(
            [Record(value=b"old")],
            base_offset=Offset(offset),
            leader_epoch=LeaderEpoch(leader_epoch),
        )
        log = log.append(Batch.of(data))
    return log.with_high_watermark(Offset(high_watermark))


def leading(log: PartitionLog | None = None, given: PartitionState | None = None) -> Leader:
    return become_leader(TP, log or PartitionLog(), ProducerStates(), given or state(), context())[
        0
    ]


def record(sequence: int = -1, *, acks: int = ACKS_ALL, value: bytes = b"v") -> Produce:
    pid, producer_epoch = (
        (ProducerId(7), ProducerEpoch(0)) if sequence >= 0 else (ProducerId(-1), ProducerEpoch(-1))
    )
    data = encode(
        [Record(value=value)],
        producer_id=pid,
        producer_epoch=producer_epoch,
        base_sequence=Sequence(sequence),
    )
    return Produce(topic_partition=TP, batches=data, acks=acks, timeout_ms=100)


def follower(broker: int, offset: int, *, last_epoch: int = 5, wait_ms: int = 0) -> Fetch:
    return Fetch(
        topic_partition=TP,
        fetch_offset=Offset(offset),
        replica_id=BrokerId(broker),
        replica_epoch=BrokerEpoch(10 + broker),
        current_leader_epoch=LeaderEpoch(5),
        last_fetched_epoch=LeaderEpoch(last_epoch),
        max_wait_ms=wait_ms,
    )


def replies(effects: Effects) -> list[object]:
    return [effect.response for effect in effects if isinstance(effect, Reply)]


def proposals(effects: Effects) -> list[tuple[int, ...]]:
    return [
        tuple(broker for broker, _ in effect.request.isr)
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.request, AlterPartition)
    ]
