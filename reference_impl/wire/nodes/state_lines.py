"""Describes the state of a cluster's nodes in lines of text.

Each line begins with the node whose state it describes:

    controller: broker 2: broker epoch 44, not fenced
    controller: orders-0: leader 1, leader epoch 5, ISR 1 3, ELR 2
    broker 1: running, broker epoch 27, metadata version 52, 1 request in flight
    broker 1: orders-0: leads, leader epoch 5, end offset 28, high watermark 27, 1 produce waits,
                        proposes no ISR, follower 2 at 27, follower 3 at 28

A user reads these lines when a client gets no response.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.vocabulary import BrokerId
from reference_impl.partition.leader import Leader
from reference_impl.partition.roles import Replica
from reference_impl.protocol.controller import BrokerState, PartitionState
from reference_impl.protocol.messages import NodeId
from reference_impl.wire.nodes.host import Host


def state_lines(host: Host) -> list[str]:
    """Returns the lines of the controller's metadata, and then the lines of each broker's state."""
    image = host.image
    return [
        *(f"controller: broker {one.broker_id}: {_registration(one)}" for one in image.brokers),
        *(f"controller: {place}: {_partition(state)}" for place, state in image.topic_partitions),
        *(line for broker_id in host.brokers for line in _of_broker(host, broker_id)),
    ]


def _registration(state: BrokerState) -> str:
    return f"broker epoch {state.broker_epoch}, {'fenced' if state.fenced else 'not fenced'}"


def _partition(state: PartitionState) -> str:
    return (
        f"leader {state.leader}, leader epoch {state.leader_epoch}, ISR {_ids(state.isr)}, "
        f"ELR {_ids(state.elr)}"
    )


def _of_broker(host: Host, broker_id: BrokerId) -> Iterator[str]:
    broker = host.broker(broker_id)
    if broker is None:
        yield f"broker {broker_id}: down"
        return
    is_paused = host.interruptions.is_paused(NodeId(broker_id))
    yield (
        f"broker {broker_id}: {'paused' if is_paused else 'running'}, broker epoch "
        f"{broker.broker_epoch}, metadata version {broker.image.version}, "
        f"{_count(host.requests.count(broker_id), 'request')} in flight"
    )
    for place, replica in broker.replicas.items():
        yield f"broker {broker_id}: {place}: {_replica(replica)}"


def _replica(replica: Replica) -> str:
    log = f"end offset {replica.log.end_offset}, high watermark {replica.log.high_watermark}"
    epoch = f"leader epoch {replica.state.leader_epoch}"
    if not isinstance(replica, Leader):
        fetch = "no fetch" if replica.awaits is None else "a fetch"
        return f"follows {replica.state.leader}, {epoch}, {log}, {fetch} in flight"
    in_sync, waiting = replica.in_sync, len(replica.waiting_produces)
    parts = [
        f"leads, {epoch}, {log}, {waiting} produce{' waits' if waiting == 1 else 's wait'}",
        f"proposes {f'ISR {_ids(in_sync.proposed)}' if in_sync.proposed else 'no ISR'}",
        *(f"follower {one} at {remote.end_offset}" for one, remote in in_sync.remotes.items()),
    ]
    return ", ".join(parts)


def _ids(brokers: tuple[BrokerId, ...]) -> str:
    return " ".join(map(str, brokers)) or "empty"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
