"""Maps one topic partition of the reference broker to a behaviour of abstract replication.

A fetch and its response are two steps of the spec, as on the broker. The variables of the spec get
their values from the brokers and the controller. Each row has a variable of the spec, and the part
of the cluster's state that gives the variable its value:

    replica[r]       the log, the high watermark and the role of a broker; after a restart of the
                     broker, the log and the high watermark on its disk
    led[e]           the log of the leader of epoch e, the ISR that this leader uses, and the
                     fetches that the leader received
    isr[e]           the replicas that the controller has in the ISR or in the ELR: each of them has
                     every committed record

A consumer is mapped to a replica that is never in sync (`consumer_reads`).

In the spec, a fetch reaches the leader in the step in which the follower sends the fetch. On the
broker, the fetch arrives later. `message_knowledge` checks that the leader relies only on fetches
that have arrived.

Source: KIP-101, KIP-320, KIP-497, KIP-966; `model.replication_abstract.claims`.
Simplified: a record is mapped only while it is in the log of a replica. Power losses and unclean
elections are no steps of the spec; trace validation reports them as violations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from model.language.interpreter import Cell, Value
from model.replication_abstract.versions import ReplicationProof
from model.vocabulary import BrokerId, TopicPartition
from properties.refinement.behaviour import ANY, Behaviour, Call, as_int
from properties.refinement.consumer_reads import ConsumerReads, consumer_of
from properties.refinement.log_entries import Messages, last_offset
from properties.refinement.message_knowledge import MessageKnowledge, RequestsReceived
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import (
    AlterPartition,
    BrokerHeartbeated,
    PartitionState,
    UpdateMetadata,
)
from reference_impl.protocol.messages import (
    NO_BROKER,
    ErrorCode,
    Fetched,
    NodeId,
    OffsetOfLeaderEpoch,
)
from reference_impl.simulation.trace import Traced

Replica = Leader | Follower


# The actions that a broker may take when it receives a message of this type. If a leader's broker
# is also a coordinator, the leader may append at any message: the coordinator appends when the
# record that it waits for is replicated, and this append belongs to the same step.
_ACTIONS_AT: Final[Mapping[type, frozenset[str]]] = {
    UpdateMetadata: frozenset({
        "become_leader", "become_follower", "propose_member", "drop_member", "fetch_request",
        "truncate", "append", "advance_high_watermark",
    }),
    Fetched: frozenset({
        "fetch_response", "truncate", "follower_high_watermark", "fetch_request"
    }),
    OffsetOfLeaderEpoch: frozenset({"truncate", "fetch_request"}),
    BrokerHeartbeated: frozenset(),
}  # fmt: skip
_LEADER_ACTIONS: Final = frozenset({
    "append", "propose_member", "drop_member", "fetch_request", "advance_high_watermark"
})  # fmt: skip


@dataclass(slots=True)
class BrokerReplication:
    """Maps events of a run on one topic partition to actions of the spec `replication-abstract`."""

    topic_partition: TopicPartition
    behaviour: Behaviour
    replicas: dict[NodeId, int]  # brokers first, in the order of the replicas, then consumers
    _knowledge: MessageKnowledge
    _reads: ConsumerReads
    _requests: RequestsReceived = field(default_factory=RequestsReceived)
    _messages: Messages = field(default_factory=Messages)
    _registration: PartitionState | None = None
    _incarnations: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    _held: dict[NodeId, Replica] = field(default_factory=dict[NodeId, Replica])

    @classmethod
    def of(cls, topic_partition: TopicPartition, events: Sequence[Traced]) -> BrokerReplication:
        """Returns a mapping for the events of the topic partition.

        The behaviour of the mapping begins with empty logs, the first leader of the partition, and
        an ISR without the consumers.
        """
        states = [s for e in events for s in [_decision(e.after, topic_partition)] if s is not None]
        held = [r for e in events for r in [_replica(e.after, topic_partition)] if r is not None]
        brokers = states[0].replicas
        consumers = dict.fromkeys(c for e in events if (c := consumer_of(e, topic_partition)))
        replicas = {node: k for k, node in enumerate((*map(NodeId, brokers), *consumers))}
        behaviour = Behaviour.initial(
            ReplicationProof(),
            {
                "Replica": len(replicas),
                "LeaderEpoch": max(s.leader_epoch for s in (*states, *(r.state for r in held))) + 2,
                "Offset": max((r.log.end_offset for r in held), default=0) + 2,
                "Message": ANY,
            },
            (leader := brokers.index(states[0].leader), 0),
        )
        for outsider in range(len(brokers), len(replicas)):
            for call in (Call("shrink_isr", (outsider,)), Call("drop_member", (leader, outsider))):
                assert behaviour.take(call) is None
        behaviour.end_preparation()
        return cls(
            topic_partition,
            behaviour,
            replicas,
            MessageKnowledge(topic_partition),
            ConsumerReads(topic_partition),
        )

    @property
    def elements(self) -> dict[str, list[str]]:
        registered = self._registration
        brokers = () if registered is None else tuple(map(NodeId, registered.replicas))
        names = (f"{'broker' if node in brokers else 'client'} {node}" for node in self.replicas)
        return {"Replica": [*names]}

    def fork(self) -> Self:
        return replace(
            self,
            behaviour=self.behaviour.fork(),
            _knowledge=self._knowledge.fork(),
            _requests=self._requests.fork(),
            _incarnations=dict(self._incarnations),
            _held=dict(self._held),
            _reads=self._reads.fork(),
        )

    # ------------------------------------------------------------ the actions of an event

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        violation = self._requests.violation(traced)
        if violation:
            return ExpectedStep(calls=(), violation=violation)
        match traced.after:
            case Controller():
                return self._controller(
                    traced, traced.after.topic_partitions.get(self.topic_partition)
                )
            case Broker():
                return self._broker(traced, traced.after)
            case _:
                return self._reads.expected_step(
                    traced, self.behaviour, self.replicas, self._messages
                )

    # ---- the controller

    def _controller(self, traced: Traced, after: PartitionState | None) -> ExpectedStep | None:
        before, self._registration = self._registration, after
        if after is None:
            return None
        self._knowledge.decided.add(after)
        if before is None:
            return ExpectedStep(calls=(), cells=self._registration_cells(after))
        if before is after or before == after:
            refused = self._is_refused(traced, after)
            return ExpectedStep(calls=(Call("refuse"),)) if refused else None
        calls: list[Call] = []
        newest = after.leader_epoch
        was, members = self._members(before), self._members(after)
        if newest != before.leader_epoch:
            chosen = after.leader
            calls += [
                Call("elect_nobody", (newest,))
                if chosen == NO_BROKER
                else Call("elect", (self.replicas[NodeId(chosen)], newest))
            ]
        calls += [Call("expand_isr", (r,)) for r in sorted(members - was)]
        calls += [Call("shrink_isr", (r,)) for r in sorted(was - members)]
        # Any other change also refuses proposals on their way: they name an older partition epoch.
        return ExpectedStep(
            calls=tuple(calls or [Call("refuse")]), cells=self._registration_cells(after)
        )

    def _registration_cells(self, after: PartitionState) -> dict[Cell, Value]:
        newest, members = after.leader_epoch, self._members(after)
        cells: dict[Cell, Value] = {("newest", ()): newest}
        cells |= {("isr", (newest, r)): r in members for r in self.replicas.values()}
        if after.leader != NO_BROKER:
            cells["leader", (newest,)] = self.replicas[NodeId(after.leader)]
        return cells

    def _is_refused(self, traced: Traced, state: PartitionState) -> bool:
        match traced.event:
            case RequestReceived(request=AlterPartition() as proposal) if (
                proposal.topic_partition == self.topic_partition
            ):
                members = {member for member, _ in proposal.isr}
                proposed = proposal.leader_epoch, proposal.partition_epoch
                current = state.leader_epoch, state.partition_epoch
                return proposed == current and members != set(state.isr)
            case _:
                return False

    def _members(self, state: PartitionState) -> set[int]:
        return self._numbers((*state.isr, *state.elr))

    def _numbers(self, brokers: Iterable[BrokerId]) -> set[int]:
        return {self.replicas[NodeId(broker)] for broker in brokers}

    # ---- brokers

    def _broker(self, traced: Traced, broker: Broker) -> ExpectedStep | None:
        node = traced.node
        if node not in self.replicas:
            return None
        incarnation, self._incarnations[node] = self._incarnations.get(node), broker.incarnation
        if incarnation not in {None, broker.incarnation}:
            return self._restarted(node, broker)
        before, after = self._held.get(node), broker.replicas.get(self.topic_partition)
        self._reads.note_request(traced, after)
        if after is None or after is before:
            return None
        self._held[node] = after
        r, state = self.replicas[node], self.behaviour.state
        calls = [*self._moves(r, before, after)]
        end = as_int(state["replica.end_offset", (r,)])
        if after.log.end_offset < end:
            calls.append(Call("truncate", (r, after.log.end_offset)))
        new = [*self._messages.of(after.log, end)]
        if isinstance(after, Leader):
            calls += self._late_fetches(after)
            calls += [Call("append", (r, e.message, e.offset + 1)) for e in new]
            calls += self._maximal_isr_changes(r, after)
        else:
            calls += [Call("fetch_response", (r, last_offset(e.offset), e.offset + 1)) for e in new]
        calls += self._high_watermark_advance(traced, r, after)
        if isinstance(after, Follower) and _sent(before) != _sent(after) is not None:
            calls.append(Call("fetch_request", (r, last_offset(after.log.end_offset)), maybe=True))
        return ExpectedStep(
            calls=tuple(calls),
            cells=self._cells(r, after),
            at_least=self._fetched_offsets(after),
            allowed_actions=self._allowed_actions(traced),
            violation=self._knowledge.violation(traced, before, after),
        )

    def _allowed_actions(self, traced: Traced) -> frozenset[str]:
        match traced.event:
            case ResponseReceived(response=Fetched(topic_partition=about)) if (
                about != self.topic_partition
            ):
                return frozenset()
            case _:
                return _ACTIONS_AT.get(_type_of(traced), _LEADER_ACTIONS)

    def _restarted(self, node: NodeId, broker: Broker) -> ExpectedStep | None:
        self._held.pop(node, None)
        log, r = broker.unassigned.get(self.topic_partition), self.replicas[node]
        if log is None:
            return None
        cells = {**self._log(r, log), ("replica.is_leader", (r,)): False}
        return ExpectedStep(calls=(Call("restart", (r, log.high_watermark)),), cells=cells)

    def _moves(self, r: int, before: Replica | None, after: Replica) -> Iterator[Call]:
        state, newer = self.behaviour.state, after.state.leader_epoch
        if newer == state["replica.leader_epoch", (r,)]:
            return
        # the action of an unanswered fetch comes first
        if _sent(before) is not None:
            end = as_int(state["replica.end_offset", (r,)])
            yield Call("fetch_request", (r, last_offset(end)), maybe=True)
        yield Call("become_leader" if isinstance(after, Leader) else "become_follower", (r, newer))

    def _late_fetches(self, leader: Leader) -> Iterator[Call]:
        # In the spec, a fetch needs a leader that has begun its epoch, so an earlier one has its
        # action here.
        state, e = self.behaviour.state, leader.state.leader_epoch
        for broker, remote in leader.in_sync.remotes.items():
            f = self.replicas[NodeId(broker)]
            in_epoch = state["replica.leader_epoch", (f,)] == e
            if in_epoch and remote.end_offset > as_int(state["led.fetched", (e, f)]):
                yield Call("fetch_request", (f, last_offset(remote.end_offset)), maybe=True)

    def _maximal_isr_changes(self, r: int, leader: Leader) -> Iterator[Call]:
        state, e = self.behaviour.state, leader.state.leader_epoch
        begins = state["replica.leader_epoch", (r,)] != e
        waited = "first_isr" if begins else "led.maximal_isr"
        was = {f for f in self.replicas.values() if state[waited, (e, f)]}
        members = self._maximal(r, leader)
        yield from (Call("propose_member", (r, f)) for f in sorted(members - was))
        yield from (Call("drop_member", (r, f)) for f in sorted(was - members))

    def _high_watermark_advance(self, traced: Traced, r: int, after: Replica) -> Iterator[Call]:
        mark: int = after.log.high_watermark
        match traced.event:
            case ResponseReceived(
                response=Fetched(error=ErrorCode.NONE, diverging_epoch=None, high_watermark=leaders)
            ) if isinstance(after, Follower):
                mark = min(leaders, after.log.end_offset)
            case _:
                pass
        if mark == self.behaviour.state["replica.high_watermark", (r,)]:
            return
        if isinstance(after, Leader):
            yield Call("advance_high_watermark", (r, mark))
        else:
            yield Call("follower_high_watermark", (r, last_offset(after.log.end_offset), mark))

    # ---- the state that must follow

    def _cells(self, r: int, after: Replica) -> dict[Cell, Value]:
        e, leads = after.state.leader_epoch, isinstance(after, Leader)
        cells = self._log(r, after.log)
        cells["replica.leader_epoch", (r,)] = e
        cells["replica.is_leader", (r,)] = leads
        if isinstance(after, Leader):
            members = self._maximal(r, after)
            cells["led.start_offset", (e,)] = after.epoch_start
            cells |= {("led.maximal_isr", (e, f)): f in members for f in self.replicas.values()}
        return cells

    def _log(self, r: int, log: PartitionLog) -> dict[Cell, Value]:
        cells: dict[Cell, Value] = {
            ("replica.end_offset", (r,)): log.end_offset,
            ("replica.high_watermark", (r,)): log.high_watermark,
        }
        for offset, leader_epoch, message in self._messages.of(log):
            cells["replica.entry.leader_epoch", (r, offset)] = leader_epoch
            cells["replica.entry.message", (r, offset)] = message
        return cells

    def _fetched_offsets(self, after: Replica) -> dict[Cell, int]:
        if isinstance(after, Follower):
            return {}
        e = after.state.leader_epoch
        return {
            ("led.fetched", (e, self.replicas[NodeId(f)])): remote.end_offset
            for f, remote in after.in_sync.remotes.items()
        }

    def _maximal(self, r: int, leader: Leader) -> set[int]:
        state = leader.state
        return {r, *self._numbers((*state.isr, *state.elr, *leader.in_sync.proposed))}


def _decision(node: object, topic_partition: TopicPartition) -> PartitionState | None:
    return node.topic_partitions.get(topic_partition) if isinstance(node, Controller) else None


def _replica(node: object, topic_partition: TopicPartition) -> Replica | None:
    return node.replicas.get(topic_partition) if isinstance(node, Broker) else None


def _type_of(traced: Traced) -> type:
    match traced.event:
        case RequestReceived(request=message) | ResponseReceived(response=message):
            return type(message)
        case timer:
            return type(timer)


def _sent(replica: Replica | None) -> int | None:
    if not isinstance(replica, Follower) or replica.is_truncating:
        return None
    return replica.awaits
