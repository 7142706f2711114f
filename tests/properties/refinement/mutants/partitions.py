"""Mutations of a topic partition in a run: of its logs, its leader, its partition state.

A mutated run must be rejected, with two exceptions:

- The altered step does only a part of the real step. For example, it appends fewer records, or adds
  fewer members to the ISR.
- The mutation drops or moves a *private* step, of which no other node learns. A private step
  changes only a follower's high watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from model.vocabulary import Sequence as SequenceNumber
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import stamped
from reference_impl.log.segment import Batch
from reference_impl.node.step import ResponseReceived
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import ErrorCode, Produced
from reference_impl.simulation.trace import Traced
from tests.properties.refinement.mutants import runs
from tests.properties.refinement.mutants.runs import Mutations, Node

Replica = Leader | Follower
Alteration = Callable[[Traced, TopicPartition], Traced | None]


def mutations_of(topic_partition: TopicPartition) -> Mutations:
    def visible(node: Node) -> object:
        if isinstance(node, Controller):
            return node.topic_partitions.get(topic_partition)
        return _visible(node.replicas.get(topic_partition))

    def is_part(before: Node, altered: Node, real: Node) -> bool:
        match before, altered, real:
            case Broker(), Broker(), Broker() if topic_partition in before.replicas:
                return _is_part(*(b.replicas[topic_partition] for b in (before, altered, real)))
            case Controller(), Controller(), Controller() if (
                topic_partition in before.topic_partitions
            ):
                decided = (c.topic_partitions[topic_partition] for c in (before, altered, real))
                had, fewer, has = ({*state.isr, *state.elr} for state in decided)
                return had <= fewer < has or had >= fewer > has
            case _:
                return False

    def is_private(before: Node, after: Node) -> bool:
        if not isinstance(before, Broker) or not isinstance(after, Broker):
            return False
        was, did = before.replicas.get(topic_partition), after.replicas.get(topic_partition)
        if not isinstance(was, Follower) or not isinstance(did, Follower):
            return False
        return was.log == replace(did.log, high_watermark=was.log.high_watermark)

    return Mutations(
        visible=visible,
        is_part=is_part,
        is_private=is_private,
        of_steps={kind: _at(topic_partition, alter) for kind, alter in OF_STEPS.items()},
        of_responses={kind: _at(topic_partition, alter) for kind, alter in OF_RESPONSES.items()},
    )


def _at(topic_partition: TopicPartition, alter: Alteration) -> runs.Alteration:
    return lambda traced: alter(traced, topic_partition)


def _visible(replica: Replica | None) -> object:
    if replica is None:
        return None
    log, leads = replica.log, isinstance(replica, Leader)
    isr = (replica.state, replica.in_sync.maximal) if isinstance(replica, Leader) else None
    return log.segments, log.end_offset, log.high_watermark, replica.state.leader_epoch, leads, isr


def _is_part(before: Replica, altered: Replica, real: Replica) -> bool:
    was, less, did = before.log, altered.log, real.log
    marks = was.high_watermark <= less.high_watermark <= did.high_watermark
    ends = was.end_offset <= less.end_offset <= did.end_offset
    batches = [*less.batches()]
    parts = batches == [*did.batches()][: len(batches)]
    return replace(real, log=less) == altered and less != did and marks and ends and parts


# ---------------------------------------------------------------- the mutations


def _of_log(change: Callable[[Replica], PartitionLog | None]) -> Alteration:
    def altered(traced: Traced, topic_partition: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Broker) or topic_partition not in traced.after.replicas:
            return None
        replica = traced.after.replicas[topic_partition]
        log = change(replica)
        return None if log is None else _with(traced, replace(replica, log=log))

    return altered


def _of_leader(change: Callable[[Leader], Leader | None]) -> Alteration:
    def altered(traced: Traced, topic_partition: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Broker):
            return None
        leader = traced.after.replicas.get(topic_partition)
        changed = change(leader) if isinstance(leader, Leader) else None
        return None if changed is None else _with(traced, changed)

    return altered


def _of_decision(change: Callable[[PartitionState], PartitionState | None]) -> Alteration:
    def altered(traced: Traced, topic_partition: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Controller):
            return None
        state = change(traced.after.topic_partitions[topic_partition])
        if state is None:
            return None
        decided = {**traced.after.topic_partitions, topic_partition: state}
        return traced._replace(after=replace(traced.after, topic_partitions=decided))

    return altered


def _with(traced: Traced, replica: Replica) -> Traced:
    assert isinstance(traced.after, Broker)
    replicas = {**traced.after.replicas, replica.topic_partition: replica}
    return traced._replace(after=replace(traced.after, replicas=replicas))


def _mark(by: int) -> Callable[[Replica], PartitionLog | None]:
    def moved(replica: Replica) -> PartitionLog | None:
        mark = replica.log.high_watermark + by
        return replace(replica.log, high_watermark=Offset(mark)) if mark >= 0 else None

    return moved


def _without_last(replica: Replica) -> PartitionLog | None:
    log = replica.log
    return log.truncate_to(Offset(log.end_offset - 1)) if log.end_offset else None


def _last_batch(replica: Replica) -> Batch | None:
    return next(iter([*replica.log.batches()][-1:]), None)


def _last_again(replica: Replica) -> PartitionLog | None:
    last = _last_batch(replica)
    if last is None:
        return None
    again = stamped(
        last.data,
        base_offset=replica.log.end_offset,
        leader_epoch=LeaderEpoch(last.header.leader_epoch),
    )
    return replica.log.append(Batch.of(again))


def _last_of_next_epoch(replica: Replica) -> PartitionLog | None:
    last = _last_batch(replica)
    if last is None:
        return None
    restamped = stamped(
        last.data,
        base_offset=last.header.base_offset,
        leader_epoch=LeaderEpoch(last.header.leader_epoch + 1),
    )
    return replica.log.truncate_to(last.header.base_offset).append(Batch.of(restamped))


def _epoch_on(leader: Leader) -> Leader:
    state = replace(leader.state, leader_epoch=LeaderEpoch(leader.state.leader_epoch + 1))
    return replace(leader, in_sync=replace(leader.in_sync, state=state))


def _fetched_beyond_end(leader: Leader) -> Leader | None:
    """Returns the leader with a wrong fetch offset of one follower: the leader's log end plus 1.

    Returns None if the leader has no followers.
    """
    for broker, remote in leader.in_sync.remotes.items():
        ahead = replace(remote, end_offset=Offset(leader.log.end_offset + 1))
        return replace(leader, in_sync=leader.in_sync.with_remote(broker, ahead))
    return None


def _alone_in_isr(leader: Leader) -> Leader | None:
    mine = leader.state.isr[:1]
    if leader.state.isr == mine:
        return None
    state = replace(leader.state, isr=mine, elr=())
    return replace(leader, in_sync=replace(leader.in_sync, state=state, proposal=None))


def _next_sequence(leader: Leader) -> Leader | None:
    """Returns the leader with one producer's last sequence number increased by one.

    Returns None if the leader has no batch of a producer.
    """
    for producer_id, known in leader.producers.producers.items():
        for last in known.batches[-1:]:
            wrong = last._replace(last_sequence=SequenceNumber(last.last_sequence + 1))
            states = {
                **leader.producers.producers,
                producer_id: known._replace(batches=(*known.batches[:-1], wrong)),
            }
            return replace(leader, producers=replace(leader.producers, producers=states))
    return None


def _without_member(state: PartitionState) -> PartitionState | None:
    rest = tuple(b for b in state.isr if b != state.leader)
    gone = rest[:1]
    return (
        replace(
            state,
            isr=tuple(b for b in state.isr if b not in gone),
            elr=tuple(b for b in state.elr if b not in gone),
        )
        if gone
        else None
    )


def _with_member(state: PartitionState) -> PartitionState | None:
    new = tuple(b for b in state.replicas if b not in (*state.isr, *state.elr))
    return replace(state, isr=(*state.isr, *new)) if new else None


def _other_leader(state: PartitionState) -> PartitionState:
    other: BrokerId = next(b for b in state.replicas if b != state.leader)
    return replace(state, leader=other)


def _acknowledged_offset(by: int) -> Alteration:
    def altered(traced: Traced, topic_partition: TopicPartition) -> Traced | None:
        del topic_partition
        match traced.event:
            case (
                ResponseReceived(response=Produced(error=ErrorCode.NONE) as response) as received
            ) if response.base_offset + by >= 0:
                offset = Offset(response.base_offset + by)
                event = replace(received, response=replace(response, base_offset=offset))
                return traced._replace(event=event)
            case _:
                return None

    return altered


OF_STEPS: Final[Mapping[str, Alteration]] = {
    "high watermark ahead": _of_log(_mark(+1)),
    "high watermark behind": _of_log(_mark(-1)),
    "last record missing": _of_log(_without_last),
    "last record twice": _of_log(_last_again),
    "last record of the next epoch": _of_log(_last_of_next_epoch),
    "leader in the next epoch": _of_leader(_epoch_on),
    "leader counts on a fetch": _of_leader(_fetched_beyond_end),
    "leader waits for itself alone": _of_leader(_alone_in_isr),
    "leader remembers the next number": _of_leader(_next_sequence),
    "ISR without a member": _of_decision(_without_member),
    "ISR with another replica": _of_decision(_with_member),
    "another leader": _of_decision(_other_leader),
}
OF_RESPONSES: Final[Mapping[str, Alteration]] = {
    "acknowledged offset plus one": _acknowledged_offset(+1),
    "acknowledged offset minus one": _acknowledged_offset(-1),
}
