"""One topic partition of the reference broker as a behaviour of abstract replication.

The abstract spec, not a rich one: it is proved for any number of everything, and its grain is the
broker's. There a fetch is a look at what the leader of an epoch did, however late; the rich specs
take fetch and answer as one step, which no simulated network lets happen.

    replica[r]       the log, the high watermark and the role of a broker; in its last life the disk
    led[e]           what the leader of an epoch has, waits for, and was told by fetches
    isr[e]           the ISR *and* the ELR: while the one is too small nothing is committed, so the
                     members of the other have all that is
    a consumer       a replica that never is in sync: it follows, and its log and its high watermark
                     are what it was given; so what was read is committed, and the same everywhere

A fetch is taken where the follower sends it, which is before its leader hears of it: the leader may
only count on less than the abstract one knows.

Source: KIP-101, KIP-320, KIP-497, KIP-966; `model.replication_abstract.spec`.
Simplified: what is not yet, or no longer, in a log is not seen; power losses and unclean elections
are no steps of the spec, and are reported; the end offset that a client is told may be an old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from model.language.interpreter import Cell, Value
from model.replication_abstract.versions import ReplicationProof
from model.vocabulary import BrokerId, TopicPartition
from properties.refinement.behaviour import ANY, Behaviour, Call
from properties.refinement.log_entries import Messages
from properties.refinement.message_knowledge import MessageKnowledge, RequestsReceived
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import batches
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
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
    OffsetOfLeaderEpoch,
)
from reference_impl.simulation.trace import Traced

Replica = Leader | Follower


# What a broker may do when it hears something. A leader that coordinates, too, may append whenever
# what its own coordinator waits for is replicated: all within the step.
_HEARS: Final[Mapping[type, frozenset[str]]] = {
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
_LEADS: Final = frozenset({
    "append", "propose_member", "drop_member", "fetch_request", "advance_high_watermark"
})  # fmt: skip


@dataclass(slots=True)
class BrokerReplication:
    """The topic partition, as far as the run has come."""

    topic_partition: TopicPartition
    behaviour: Behaviour
    replicas: dict[NodeId, int]  # brokers first, in the order of the replicas, then consumers
    _knowledge: MessageKnowledge
    _requests: RequestsReceived = field(default_factory=RequestsReceived)
    _messages: Messages = field(default_factory=Messages)
    _decided: PartitionState | None = None
    _lives: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    _held: dict[NodeId, Replica] = field(default_factory=dict[NodeId, Replica])
    _polls: dict[tuple[NodeId, int], int] = field(default_factory=dict[tuple[NodeId, int], int])

    @classmethod
    def of(cls, topic_partition: TopicPartition, events: Sequence[Traced]) -> BrokerReplication:
        """The spec at the size of the run and one more, in the state in which the controller began.

        Consumers are out of sync before anything happens.
        """
        states = [s for e in events for s in [_decision(e.after, topic_partition)] if s is not None]
        held = [r for e in events for r in [_replica(e.after, topic_partition)] if r is not None]
        brokers = states[0].replicas
        consumers = dict.fromkeys(
            who for e in events for who in [_polls(e, topic_partition)] if who
        )
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
        behaviour.taken.clear()
        return cls(topic_partition, behaviour, replicas, MessageKnowledge(topic_partition))

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(
            self,
            behaviour=self.behaviour.fork(),
            _knowledge=self._knowledge.fork(),
            _requests=self._requests.fork(),
            _lives=dict(self._lives),
            _held=dict(self._held),
            _polls=dict(self._polls),
        )

    # ------------------------------------------------------------ what a step looks like

    def expected_step(self, traced: Traced) -> ExpectedStep | None:
        """The actions that make the step, and what the spec's state has to be after them."""
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
                return self._consumer(traced)

    # ---- the controller

    def _controller(self, traced: Traced, after: PartitionState | None) -> ExpectedStep | None:
        before, self._decided = self._decided, after
        if after is None:
            return None
        self._knowledge.decided.add(after)
        if before is None:
            return ExpectedStep(calls=(), shows=self._shows_decided(after))
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
        # A change of anything else, too, refuses what is on its way: it is of an older state.
        return ExpectedStep(
            calls=tuple(calls or [Call("refuse")]), shows=self._shows_decided(after)
        )

    def _shows_decided(self, after: PartitionState) -> dict[Cell, Value]:
        newest, members = after.leader_epoch, self._members(after)
        shows: dict[Cell, Value] = {("newest", ()): newest}
        shows |= {("isr", (newest, r)): r in members for r in self.replicas.values()}
        if after.leader != NO_BROKER:
            shows["leader", (newest,)] = self.replicas[NodeId(after.leader)]
        return shows

    def _is_refused(self, traced: Traced, state: PartitionState) -> bool:
        """The controller was asked for another ISR than there is, by who knows that one."""
        match traced.event:
            case RequestReceived(request=AlterPartition() as asked) if (
                asked.topic_partition == self.topic_partition
            ):
                members = {member for member, _ in asked.isr}
                knows = asked.leader_epoch, asked.partition_epoch
                current = state.leader_epoch, state.partition_epoch
                return knows == current and members != set(state.isr)
            case _:
                return False

    def _members(self, state: PartitionState) -> set[int]:
        """Who has all that is committed, as the controller knows it."""
        return self._numbers((*state.isr, *state.elr))

    def _numbers(self, brokers: Iterable[BrokerId]) -> set[int]:
        return {self.replicas[NodeId(broker)] for broker in brokers}

    # ---- brokers

    def _broker(self, traced: Traced, broker: Broker) -> ExpectedStep | None:
        node = traced.node
        if node not in self.replicas:
            return None
        life, self._lives[node] = self._lives.get(node), broker.incarnation
        if life not in {None, broker.incarnation}:
            return self._restarted(node, broker)
        before, after = self._held.get(node), broker.replicas.get(self.topic_partition)
        self._note_poll(traced, after)
        if after is None or after is before:
            return None
        self._held[node] = after
        r, state = self.replicas[node], self.behaviour.state
        calls = [*self._moves(r, before, after)]
        end = _int(state["replica.end_offset", (r,)])
        if after.log.end_offset < end:
            calls.append(Call("truncate", (r, after.log.end_offset)))
        new = [*self._messages.of(after.log, end)]
        if isinstance(after, Leader):
            calls += self._hears(after)
            calls += [Call("append", (r, e.message, e.offset + 1)) for e in new]
            calls += self._waits_for(r, after)
        else:
            calls += [Call("fetch_response", (r, _last(e.offset), e.offset + 1)) for e in new]
        calls += self._marks(traced, r, after)
        if isinstance(after, Follower) and _sent(before) != _sent(after) is not None:
            calls.append(Call("fetch_request", (r, _last(after.log.end_offset)), maybe=True))
        return ExpectedStep(
            calls=tuple(calls),
            shows=self._shows(r, after),
            at_least=self._heard(after),
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
                return _HEARS.get(_told(traced), _LEADS)

    def _restarted(self, node: NodeId, broker: Broker) -> ExpectedStep | None:
        """A new life begins with what the old one left on the disk."""
        self._held.pop(node, None)
        log, r = broker.unassigned.get(self.topic_partition), self.replicas[node]
        if log is None:
            return None
        shows = {**self._log(r, log), ("replica.is_leader", (r,)): False}
        return ExpectedStep(calls=(Call("restart", (r, log.high_watermark)),), shows=shows)

    def _moves(self, r: int, before: Replica | None, after: Replica) -> Iterator[Call]:
        """A replica enters a leader epoch; a fetch of before may still reach its old leader."""
        state, newer = self.behaviour.state, after.state.leader_epoch
        if newer == state["replica.leader_epoch", (r,)]:
            return
        if _sent(before) is not None:
            end = _int(state["replica.end_offset", (r,)])
            yield Call("fetch_request", (r, _last(end)), maybe=True)
        yield Call("become_leader" if isinstance(after, Leader) else "become_follower", (r, newer))

    def _hears(self, leader: Leader) -> Iterator[Call]:
        """A fetch that was sent before its leader had begun counts when the leader hears of it."""
        state, e = self.behaviour.state, leader.state.leader_epoch
        for broker, remote in leader.in_sync.remotes.items():
            f = self.replicas[NodeId(broker)]
            in_epoch = state["replica.leader_epoch", (f,)] == e
            if in_epoch and remote.end_offset > _int(state["led.fetched", (e, f)]):
                yield Call("fetch_request", (f, _last(remote.end_offset)), maybe=True)

    def _waits_for(self, r: int, leader: Leader) -> Iterator[Call]:
        """Whom the leader proposes it waits for; whom neither it nor the ISR names, no more."""
        state, e = self.behaviour.state, leader.state.leader_epoch
        begins = state["replica.leader_epoch", (r,)] != e
        waited = "first_isr" if begins else "led.maximal_isr"
        was = {f for f in self.replicas.values() if state[waited, (e, f)]}
        members = self._maximal(r, leader)
        yield from (Call("propose_member", (r, f)) for f in sorted(members - was))
        yield from (Call("drop_member", (r, f)) for f in sorted(was - members))

    def _marks(self, traced: Traced, r: int, after: Replica) -> Iterator[Call]:
        """The high watermark moves; that of a follower to the one that it is told."""
        mark: int = after.log.high_watermark
        match traced.event:
            case ResponseReceived(
                response=Fetched(error=ErrorCode.NONE, diverging_epoch=None, high_watermark=told)
            ) if isinstance(after, Follower):
                mark = min(told, after.log.end_offset)
            case _:
                pass
        if mark == self.behaviour.state["replica.high_watermark", (r,)]:
            return
        if isinstance(after, Leader):
            yield Call("advance_high_watermark", (r, mark))
        else:
            yield Call("follower_high_watermark", (r, _last(after.log.end_offset), mark))

    # ---- what has to be true of a broker afterwards

    def _shows(self, r: int, after: Replica) -> dict[Cell, Value]:
        e, leads = after.state.leader_epoch, isinstance(after, Leader)
        shows = self._log(r, after.log)
        shows["replica.leader_epoch", (r,)] = e
        shows["replica.is_leader", (r,)] = leads
        if isinstance(after, Leader):
            members = self._maximal(r, after)
            shows["led.start_offset", (e,)] = after.epoch_start
            shows |= {("led.maximal_isr", (e, f)): f in members for f in self.replicas.values()}
        return shows

    def _log(self, r: int, log: PartitionLog) -> dict[Cell, Value]:
        shows: dict[Cell, Value] = {
            ("replica.end_offset", (r,)): log.end_offset,
            ("replica.high_watermark", (r,)): log.high_watermark,
        }
        for offset, leader_epoch, message in self._messages.of(log):
            shows["replica.entry.leader_epoch", (r, offset)] = leader_epoch
            shows["replica.entry.message", (r, offset)] = message
        return shows

    def _heard(self, after: Replica) -> dict[Cell, int]:
        """No leader counts on more than its followers have said."""
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

    # ---- consumers

    def _note_poll(self, traced: Traced, replica: Replica | None) -> None:
        match traced.event:
            case RequestReceived(
                who, correlation, Fetch(replica_id=-1) | ListOffsets() as asked
            ) if asked.topic_partition == self.topic_partition and isinstance(replica, Leader):
                self._polls[who, correlation] = replica.state.leader_epoch
            case _:
                pass

    def _consumer(self, traced: Traced) -> ExpectedStep | None:
        match traced.event:
            case ResponseReceived(
                correlation=correlation, response=Fetched(error=ErrorCode.NONE) as told
            ):
                epoch = self._polls.pop((traced.node, correlation), None)
                if (
                    epoch is not None
                    and told.topic_partition == self.topic_partition
                    and told.batches
                ):
                    return self._read(self.replicas[traced.node], epoch, told)
            case ResponseReceived(correlation=correlation, response=ListedOffsets(offset=end)):
                if self._polls.pop((traced.node, correlation), None) is not None:
                    return ExpectedStep(calls=(), at_least={("committed_end", ()): end})
            case _:
                pass
        return None

    def _read(self, c: int, leader_epoch: int, told: Fetched) -> ExpectedStep | None:
        """What it was given is in the log of the epoch, below a high watermark of it."""
        state = self.behaviour.state
        given = [e for batch in batches(told.batches) for e in self._messages.entries(batch)]
        held, end = _int(state["replica.end_offset", (c,)]), given[-1].offset + 1
        calls = [
            Call("become_follower", (c, leader_epoch))
            for known in [_int(state["replica.leader_epoch", (c,)])]
            if known < leader_epoch
        ]
        calls += [Call("fetch_response", (c, _last(o), o + 1)) for o in range(held, end)]
        if _int(state["replica.high_watermark", (c,)]) < end:
            calls.append(Call("follower_high_watermark", (c, _last(end), end)))
        shows: dict[Cell, Value] = {}
        for offset, written_in, message in given:
            shows["replica.entry.leader_epoch", (c, offset)] = written_in
            shows["replica.entry.message", (c, offset)] = message
        return ExpectedStep(calls=tuple(calls), shows=shows)


def _decision(node: object, topic_partition: TopicPartition) -> PartitionState | None:
    return node.topic_partitions.get(topic_partition) if isinstance(node, Controller) else None


def _replica(node: object, topic_partition: TopicPartition) -> Replica | None:
    return node.replicas.get(topic_partition) if isinstance(node, Broker) else None


def _polls(traced: Traced, topic_partition: TopicPartition) -> NodeId | None:
    """The consumer whose fetch has reached a broker."""
    match traced.event:
        case RequestReceived(sender, request=Fetch(topic_partition=asked, replica_id=replica)):
            return sender if asked == topic_partition and replica < 0 else None
        case _:
            return None


def _told(traced: Traced) -> type:
    """What a node was told, or the timer that fired."""
    match traced.event:
        case RequestReceived(request=told) | ResponseReceived(response=told):
            return type(told)
        case told:
            return type(told)


def _sent(replica: Replica | None) -> int | None:
    """The correlation of the fetch that a follower has open."""
    if not isinstance(replica, Follower) or replica.is_truncating:
        return None
    return replica.awaits


def _last(end: int) -> int:
    """The offset of the last record of a log with this end; of an empty one any will do."""
    return max(end - 1, 0)


def _int(value: Value) -> int:
    assert value is not None
    return int(value)
