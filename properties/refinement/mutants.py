"""Runs with one thing wrong, to see whether following them notices.

    dropped    an event is missing, with the state after it
    swapped    two events of a run that follow each other, the other way round
    altered    one thing in the state after an event, or in what a client was told, is not so

Not every mutant is wrong. Nodes hear of each other by messages alone, so what a step did may as
well be done in the next step of the same node, unless a message of it has arrived before; and
neighbours commute, unless they are of one node or the second hears the first. Such a mutant is the
same run in another order, and *equivalent*. That is decided without any spec: brokers and the
controller are values, so their steps are taken again, and show which messages they sent.

Source: the happened-before relation of Lamport, Time, Clocks and the Ordering of Events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Final

from model.vocabulary import BrokerId, LeaderEpoch, Offset, TopicPartition
from model.vocabulary import Sequence as SequenceNumber
from properties.refinement.following import Refinement, Unexplained, first_unexplained
from reference_impl.broker import Broker
from reference_impl.controller import Controller
from reference_impl.controller_messages import PartitionState
from reference_impl.log_segment import Batch
from reference_impl.messages import ErrorCode, NodeId, Produced
from reference_impl.partition_follower import Follower
from reference_impl.partition_leader import Leader
from reference_impl.partition_log import PartitionLog
from reference_impl.record_batch import stamped
from reference_impl.simulation.trace import Traced
from reference_impl.step import Answered, Asked, Fired, Reply, Send

Replica = Leader | Follower
Events = Sequence[Traced]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A run that differs from a real one at one event."""

    kind: str
    number: int  # of the event
    events: tuple[Traced, ...]
    is_equivalent: bool

    def __str__(self) -> str:
        return f"{self.kind} at event {self.number}"


def mutants(events: Events, place: TopicPartition, coins: Random, of_each: int) -> Iterator[Mutant]:
    """Mutants of a run, drawn: so many of each kind, or as many as there are."""
    steps = [k for k in range(len(events)) if _is_step(events, k, place)]
    answers = [k for k, traced in enumerate(events) if _acknowledges(traced)]
    for kind in KINDS:
        numbers = answers if kind in OF_ANSWERS else steps
        drawn = (_made(kind, k, events, place) for k in coins.sample(numbers, len(numbers)))
        yield from islice((mutant for mutant in drawn if mutant is not None), of_each)


def judged(
    mappings: Sequence[Refinement], events: Events, wrong: Iterable[Mutant]
) -> Iterator[tuple[Mutant, Unexplained | None]]:
    """Each mutant with the event at which it is noticed; None: it is gone along with to its end.

    Up to its event a mutant is the real run, which is followed once for all of them.
    """
    done = 0
    for mutant in sorted(wrong, key=lambda mutant: mutant.number):
        assert first_unexplained(mappings, events[: mutant.number], done) is None
        done = mutant.number
        forks = [mapping.fork() for mapping in mappings]
        yield mutant, first_unexplained(forks, mutant.events, done)


def _made(kind: str, k: int, events: Events, place: TopicPartition) -> Mutant | None:
    if kind == "dropped":
        rest = (*events[:k], *events[k + 1 :])
        told = _is_heard(events, k) and not _is_kept_to_itself(events, k, place)
        return Mutant(kind=kind, number=k, events=rest, is_equivalent=not told)
    if kind == "swapped":
        if k + 1 == len(events):
            return None
        swapped = (*events[:k], events[k + 1], events[k], *events[k + 2 :])
        return Mutant(kind=kind, number=k, events=swapped, is_equivalent=_commute(events, k, place))
    after = ALTERATIONS[kind](events[k], place)
    if after is None:
        return None
    altered = (*events[:k], after, *events[k + 1 :])
    late = _is_late(events, k, after, place) and not _is_heard(events, k)
    return Mutant(kind=kind, number=k, events=altered, is_equivalent=late)


# ---------------------------------------------------------------- what is equivalent


def _node_before(events: Events, k: int) -> Broker | Controller | None:
    """The node as it was before the event, if it took a step in the same life."""
    after = events[k].after
    for traced in reversed(events[:k]):
        if traced.node == events[k].node and isinstance(traced.after, Broker | Controller):
            is_same_life = not isinstance(after, Broker) or (
                isinstance(traced.after, Broker) and traced.after.incarnation == after.incarnation
            )
            return traced.after if is_same_life else None
    return None


def _is_step(events: Events, k: int, place: TopicPartition) -> bool:
    """A broker or the controller changed something of the topic partition."""
    after = events[k].after
    if not isinstance(after, Broker | Controller):
        return False
    before = _node_before(events, k)
    match after, before:
        case Controller(), Controller():
            return after.topic_partitions.get(place) != before.topic_partitions.get(place)
        case Broker(), Broker():
            return _visible(after, place) != _visible(before, place)
        case _:
            return False


def _visible(broker: Broker, place: TopicPartition) -> object:
    replica = broker.replicas.get(place)
    if replica is None:
        return None
    log, leads = replica.log, isinstance(replica, Leader)
    told = (replica.state, replica.in_sync.maximal) if isinstance(replica, Leader) else None
    return log.segments, log.end_offset, log.high_watermark, replica.state.leader_epoch, leads, told


def _is_heard(events: Events, k: int) -> bool:
    """A message that was sent in the step arrives before the node takes its next one."""
    sent = _sent(events, k)
    for traced in events[k + 1 :]:
        if traced.node == events[k].node:
            return False
        if _received(traced) in sent:
            return True
    return False


def _is_late(events: Events, k: int, altered: Traced, place: TopicPartition) -> bool:
    """The altered step did a part of what the real one did: the next step may do the rest."""
    before, after, real = _node_before(events, k), altered.after, events[k].after
    match before, after, real:
        case Broker(), Broker(), Broker() if place in before.replicas:
            was, less, did = (b.replicas[place].log for b in (before, after, real))
            marks = was.high_watermark <= less.high_watermark <= did.high_watermark
            ends = was.end_offset <= less.end_offset <= did.end_offset
            rest = replace(real.replicas[place], log=less) == after.replicas[place]
            batches = [*less.batches()]
            parts = batches == [*did.batches()][: len(batches)]
            return rest and less != did and marks and ends and parts
        case Controller(), Controller(), Controller() if place in before.topic_partitions:
            decided = (c.topic_partitions[place] for c in (before, after, real))
            had, fewer, has = ({*state.isr, *state.elr} for state in decided)
            return had <= fewer < has or had >= fewer > has
        case _:
            return False


def _is_kept_to_itself(events: Events, k: int, place: TopicPartition) -> bool:
    """All that changed is the high watermark of a follower, which it tells nobody."""
    before, after = _node_before(events, k), events[k].after
    if not isinstance(before, Broker) or not isinstance(after, Broker):
        return False
    was, did = before.replicas.get(place), after.replicas.get(place)
    if not isinstance(was, Follower) or not isinstance(did, Follower):
        return False
    return was.log == replace(did.log, high_watermark=was.log.high_watermark)


def _commute(events: Events, k: int, place: TopicPartition) -> bool:
    """Nodes of their own, and no message between them; or the copy of a message, ignored."""
    first, second = events[k], events[k + 1]
    match first.after, second.after:
        case Broker(), Broker() if (first.node, first.event) == (second.node, second.event):
            return _visible(first.after, place) == _visible(second.after, place)
        case _:
            pass
    if first.node == second.node:
        return False
    return _received(second) not in _sent(events, k) or _is_kept_to_itself(events, k, place)


_Message = tuple[str, NodeId, NodeId, int]  # what it is, from, to, correlation


def _sent(events: Events, k: int) -> set[_Message]:
    traced, before = events[k], _node_before(events, k)
    if before is None or not isinstance(traced.event, Asked | Answered | Fired):
        return set()
    _, effects = before.step(traced.at_ms, traced.event)
    found: set[_Message] = set()
    for effect in effects:
        match effect:
            case Send(to, correlation):
                found.add(("request", traced.node, to, correlation))
            case Reply(to, correlation):
                found.add(("response", traced.node, to, correlation))
            case _:
                pass
    return found


def _received(traced: Traced) -> _Message | None:
    match traced.event:
        case Asked(sender, correlation):
            return "request", sender, traced.node, correlation
        case Answered(sender, correlation):
            return "response", sender, traced.node, correlation
        case _:
            return None


# ---------------------------------------------------------------- what is altered

Alteration = Callable[[Traced, TopicPartition], Traced | None]


def _of_log(change: Callable[[Replica], PartitionLog | None]) -> Alteration:
    """The log of the broker's replica is another one."""

    def altered(traced: Traced, place: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Broker) or place not in traced.after.replicas:
            return None
        replica = traced.after.replicas[place]
        log = change(replica)
        return None if log is None else _with(traced, replace(replica, log=log))

    return altered


def _of_leader(change: Callable[[Leader], Leader | None]) -> Alteration:
    """The broker leads with another state."""

    def altered(traced: Traced, place: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Broker):
            return None
        leader = traced.after.replicas.get(place)
        changed = change(leader) if isinstance(leader, Leader) else None
        return None if changed is None else _with(traced, changed)

    return altered


def _of_decision(change: Callable[[PartitionState], PartitionState | None]) -> Alteration:
    """The controller has decided something else."""

    def altered(traced: Traced, place: TopicPartition) -> Traced | None:
        if not isinstance(traced.after, Controller):
            return None
        state = change(traced.after.topic_partitions[place])
        if state is None:
            return None
        decided = {**traced.after.topic_partitions, place: state}
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


def _fetched_on(leader: Leader) -> Leader | None:
    """The leader believes that its last follower has one record more than the leader."""
    for broker, remote in leader.in_sync.remotes.items():
        ahead = replace(remote, end_offset=Offset(leader.log.end_offset + 1))
        return replace(leader, in_sync=leader.in_sync.with_remote(broker, ahead))
    return None


def _waits_for_less(leader: Leader) -> Leader | None:
    mine = leader.state.isr[:1]
    if leader.state.isr == mine:
        return None
    state = replace(leader.state, isr=mine, elr=())
    return replace(leader, in_sync=replace(leader.in_sync, state=state, proposal=None))


def _next_sequence(leader: Leader) -> Leader | None:
    """The leader remembers of a producer a number that comes after its last."""
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


def _told(by: int) -> Alteration:
    def altered(traced: Traced, place: TopicPartition) -> Traced | None:
        del place
        match traced.event:
            case Answered(response=Produced() as told) as answered if told.base_offset + by >= 0:
                offset = Offset(told.base_offset + by)
                event = replace(answered, response=replace(told, base_offset=offset))
                return traced._replace(event=event)
            case _:
                return None

    return altered


def _acknowledges(traced: Traced) -> bool:
    match traced.event:
        case Answered(response=Produced(error=ErrorCode.NONE)):
            return True
        case _:
            return False


ALTERATIONS: Final[Mapping[str, Alteration]] = {
    "high watermark ahead": _of_log(_mark(+1)),
    "high watermark behind": _of_log(_mark(-1)),
    "last record missing": _of_log(_without_last),
    "last record twice": _of_log(_last_again),
    "last record of the next epoch": _of_log(_last_of_next_epoch),
    "leader in the next epoch": _of_leader(_epoch_on),
    "leader counts on a fetch": _of_leader(_fetched_on),
    "leader waits for itself alone": _of_leader(_waits_for_less),
    "leader remembers the next number": _of_leader(_next_sequence),
    "ISR without a member": _of_decision(_without_member),
    "ISR with a stranger": _of_decision(_with_member),
    "another leader": _of_decision(_other_leader),
    "told one offset more": _told(+1),
    "told one offset less": _told(-1),
}
KINDS: Final = ("dropped", "swapped", *ALTERATIONS)
OF_ANSWERS: Final = frozenset({"told one offset more", "told one offset less"})
