"""Decides which timers of a topic partition rest: a due timer that would change nothing does not
fire.

Each line shows timers, the node that has them, and the condition under which they rest:

    timer                 node       rests while
    --------------------  ---------  -----------------------------------------------------------
    WAITS, REPLICA_LAG    leader     all running replicas are equal, and each follower has a fetch
                                     that waits at the leader
    FETCH                 follower   its last fetch still waits at the leader

The timer WAITS lets waiting requests time out, REPLICA_LAG removes slow followers from the ISR, and
FETCH repeats a fetch that got no response.

A resting timer fires after a replica has changed. A replica is immutable: it has changed if it is
another object than before.

If no timer rested, the followers of 500 partitions would send 2,000 fetches a second. Kafka sends
fewer fetches, because a fetch session reads all partitions of a leader.

Source: KIP-227.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.node.context import Requester
from reference_impl.node.step import Timer, TimerKind
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.partition.roles import Replica
from reference_impl.protocol.messages import NodeId

Nodes = Mapping[NodeId, Broker | Controller]
# The replicas that justify a rest; while these very values stay, nothing has changed.
Reason: TypeAlias = tuple[Replica | None, ...]
_OF_LEADER = frozenset({TimerKind.WAITS, TimerKind.REPLICA_LAG})


def reason_to_rest(
    nodes: Nodes, node_id: NodeId, timer: Timer, elsewhere: frozenset[NodeId] = frozenset()
) -> Reason | None:
    """Returns None if a due timer must fire. Otherwise, returns the replicas that the timer depends
    on. The timer rests until one of these replicas changes.

    The nodes in `elsewhere` may run in other processes, so the state of their replicas is unknown.
    A follower's timer must fire if the leader runs in another process. A leader's timer may rest
    only if its followers in other processes are in the ISR.
    """
    reason = present(nodes, node_id, timer)
    match reason:
        case (Leader() as leader,) if is_at_rest(leader, _up(nodes.keys() | elsewhere)):
            return reason
        case (Follower() as follower, Leader() as leader):
            fetch = Requester(node_id, follower.awaits if follower.awaits is not None else -1)
            waits = any(waiting.requester == fetch for waiting in leader.waiting_fetches)
            return reason if waits else None
        case _:
            return None


def present(nodes: Nodes, node_id: NodeId, timer: Timer) -> Reason:
    """Returns the replicas that decide whether a due timer fires. For a timer of a leader, the
    result is the leader. For the fetch timer of a follower, the result is the follower and its
    leader.

    If one of these replicas does not exist in this process, the result has None in its place. The
    result is empty for a timer that must always fire.
    """
    place = timer.topic_partition
    replica = _replica(nodes, node_id, place)
    if timer.kind in _OF_LEADER:
        return (replica,)
    if timer.kind is TimerKind.FETCH and isinstance(replica, Follower):
        return replica, _replica(nodes, NodeId(replica.state.leader), place)
    return ()


def is_unchanged(nodes: Nodes, node_id: NodeId, timer: Timer, reason: Reason) -> bool:
    now = present(nodes, node_id, timer)
    return len(now) == len(reason) and all(
        one is other for one, other in zip(now, reason, strict=True)
    )


@dataclass(slots=True)
class ReplicaChanges:
    _seen: dict[NodeId, Mapping[TopicPartition, Replica]] = field(default_factory=dict)

    def since_last_call(self, nodes: Nodes) -> frozenset[TopicPartition]:
        """Returns the topic partitions that have a changed, new or removed replica since the
        previous call. The first call returns all topic partitions.
        """
        now = {
            node_id: node.replicas for node_id, node in nodes.items() if isinstance(node, Broker)
        }
        before, self._seen = self._seen, now
        changed: set[TopicPartition] = set()
        for node_id in now.keys() | before.keys():
            new, old = now.get(node_id, {}), before.get(node_id, {})
            if new is not old:
                changed.update(
                    place
                    for place in new.keys() | old.keys()
                    if new.get(place) is not old.get(place)
                )
        return frozenset(changed)


def is_at_rest(leader: Leader, up: Iterable[BrokerId]) -> bool:
    """Returns True if the leader does not change until the next request or until new metadata.

    The leader is at rest if three conditions are all true. Only fetches wait at the leader, and no
    ISR proposal is pending. Each follower in the ISR has all records and the present high
    watermark, and its fetch waits. All other followers are down.
    """
    if leader.waiting_produces or leader.waiting_deletions or leader.unverified:
        return False
    in_sync, log = leader.in_sync, leader.log
    if in_sync.proposal is not None or log.high_watermark != log.end_offset:
        return False
    waiting = {one.request.replica_id: one.request.fetch_offset for one in leader.waiting_fetches}
    return all(
        waiting.get(broker) == remote.end_offset == log.end_offset
        and remote.sent_high_watermark == log.high_watermark
        and remote.log_start >= log.log_start
        if broker in in_sync.state.isr
        else broker not in up
        for broker, remote in in_sync.remotes.items()
    )


def _replica(nodes: Nodes, node_id: NodeId, place: TopicPartition | None) -> Replica | None:
    node = nodes.get(node_id)
    return node.replicas.get(place) if isinstance(node, Broker) and place is not None else None


def _up(nodes: Iterable[NodeId]) -> frozenset[BrokerId]:
    return frozenset(map(BrokerId, nodes))
