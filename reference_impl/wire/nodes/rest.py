"""Topic partitions at rest: due timers that would change nothing and do not fire.

    timer                 node       rests while
    --------------------  ---------  -----------------------------------------------------------
    WAITS, REPLICA_LAG    leader     all running replicas are equal, and each follower has a fetch
                                     that waits at the leader
    FETCH                 follower   its last fetch still waits at the leader

WAITS lets waiting requests time out, REPLICA_LAG removes slow followers from the ISR, and FETCH
repeats a fetch without a response.

A resting timer fires once a replica has changed, which is then another object.

Without rest, the followers of 500 partitions would send 2,000 fetches a second; Kafka sends fewer,
because a fetch session reads all partitions of a leader.

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
    """Returns the replicas for whose change a due timer waits; None if the timer must fire.

    Nodes of `elsewhere` may run in other processes, so their replicas are unknown. A follower's
    timer must fire if its leader is there; a leader's timer may rest only if its followers there
    are in the ISR.
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
    """The replicas that decide whether a due timer fires: the leader, or the follower and the
    leader.

    None stands for a replica that does not exist here; a timer that must always fire has no
    replicas.
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
        """The topic partitions with a changed, new or removed replica; at first all of them."""
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
    """True if the leader stays as it is until the next request or new metadata.

    Only fetches wait, each ISR follower has all records and a fetch that waits, and all other
    followers are down.
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
