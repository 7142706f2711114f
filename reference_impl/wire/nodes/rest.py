"""Topic partitions at rest: some of their timers are due, but would change nothing and do not fire.

A due timer of a partition rests (does not fire yet) in these cases:

    timer                 node       rests while
    --------------------  ---------  -----------------------------------------------------------
    WAITS, REPLICA_LAG    leader     all running replicas are equal, and each follower has a fetch
                                     that waits at the leader
    FETCH                 follower   its last fetch still waits at the leader

WAITS lets waiting requests time out. REPLICA_LAG removes slow followers from the ISR. FETCH repeats
a fetch without a response. Equal replicas have the same records, high watermark and log start.

A resting timer fires later, after the leader or the follower has changed. A replica is an immutable
object, so a changed replica is another object. `ReplicaChanges` finds the topic partitions with a
changed replica; only these are checked.

If these timers fired, the followers of 500 partitions would send 2,000 fetches a second. Kafka
sends fewer fetches, because one fetch of a fetch session reads all partitions of a leader.

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
    """Returns the replicas because of which a due timer does not fire; None if the timer must fire.

    While these replicas stay the same, the timer would change nothing. The nodes of `elsewhere` may
    run in other processes, so their replicas are unknown here. If the leader is on such a node, the
    timers of its followers must fire. The timers of a leader may rest only if each follower on a
    node of `elsewhere` is in the ISR.
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
    """Returns the replicas whose state decides whether a due timer must fire.

    These are the leader alone, or the follower and the leader. None stands for a replica that does
    not exist here. The result is empty for a timer that must always fire.
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
    """Finds the topic partitions whose replicas have changed since the previous call."""

    _seen: dict[NodeId, Mapping[TopicPartition, Replica]] = field(default_factory=dict)

    def since_last_call(self, nodes: Nodes) -> frozenset[TopicPartition]:
        """Returns the topic partitions with a replica that has changed since the previous call.

        A replica has also changed if it is new or gone. The first call returns all partitions.
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
    """Returns True if the leader stays as it is until the next request or new metadata.

    Three conditions must hold. Only fetches wait at the leader. Each follower in the ISR has all
    records and a fetch that waits. Each follower outside the ISR is down.
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
