"""Extracts the states of one topic partition from the trace of a simulated cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, runtime_checkable

from properties.claims.elections import Entry, Moment, Replica
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import decode, header
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import UNKNOWN_BROKER_EPOCH
from reference_impl.simulation import faults
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster


@runtime_checkable
class ShowsReplicas(Protocol):
    """A cluster in real time that records the states of all replicas of `orders-0`."""

    def moments(self) -> Iterable[Moment]: ...


def moments(cluster: Cluster) -> Iterator[Moment]:
    """Yields the state of the topic partition `orders-0` at the creation of the partition and
    after each change.
    """
    state: PartitionState | None = None
    replicas = {int(broker): Replica() for broker in cluster.broker_ids}
    last: Moment | None = None
    for traced in cluster.trace.events:
        match traced.event, traced.after:
            case _, Controller(topic_partitions=partitions):
                state = partitions.get(TOPIC_PARTITION)
            case _, Broker() as broker:
                replicas[broker.config.broker_id] = _replica(broker)
            case ((faults.Crash(name) | faults.PowerLoss(name)), _) if name in replicas:
                replicas[name] = replace(replicas[name], is_up=False, leads=False)
            case _:
                continue
        if state is None:
            continue
        seen = Moment(
            at_ms=traced.at_ms,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            in_sync=state.isr,
            eligible=state.elr,
            replicas={**replicas},
        )
        if last is None or replace(seen, at_ms=last.at_ms) != last:
            yield seen
            last = seen


def _is_registered(broker: Broker) -> bool:
    return broker.broker_epoch != UNKNOWN_BROKER_EPOCH


def _replica(broker: Broker) -> Replica:
    role = broker.replicas.get(TOPIC_PARTITION)
    if role is None:  # it has just started, and has received no metadata yet
        stored = broker.unassigned.get(TOPIC_PARTITION)
        log = () if stored is None else entries(stored)
        high_watermark = 0 if stored is None else stored.high_watermark
        return Replica(log=log, high_watermark=high_watermark, is_registered=_is_registered(broker))
    return Replica(
        is_registered=_is_registered(broker),
        leads=isinstance(role, Leader),
        leader_epoch=role.state.leader_epoch,
        in_sync=role.state.isr,
        high_watermark=role.log.high_watermark,
        log=entries(role.log),
    )


def entries(log: PartitionLog) -> tuple[Entry, ...]:
    return tuple(
        entry
        for batch in log.batches()
        for entry in entries_of(batch.data)
        if entry.offset >= log.log_start
    )


@lru_cache(maxsize=4_096)  # all replicas have the same bytes, at every moment
def entries_of(batch: bytes) -> tuple[Entry, ...]:
    epoch = header(batch).leader_epoch
    return tuple(
        Entry(offset, epoch, (record.value or b"").decode()) for offset, record in decode(batch)
    )
