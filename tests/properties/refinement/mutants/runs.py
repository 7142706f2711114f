"""Runs with one mutation, to test whether trace validation rejects them.

    dropped    an event is missing, and so is the state after it
    swapped    two consecutive events of a run are exchanged
    altered    the state after an event, or a response that a client received, is changed

An *equivalent* mutant is a possible run too, so it need not be rejected. There are two cases:

- An event was dropped, or altered so that it changes less of the state. The missing change then
  seems to come with the next event of the same node. Such a run is possible if no other node
  learned of the change before this next event.
- Two consecutive events were swapped, and they commute. Events of two nodes commute, unless the
  second event receives a message of the first. Events of one node commute if both orders lead to
  the same state. To find out, the node's steps are run again in the other order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from properties.refinement.trace_validation import Refinement, Unexplained, first_unexplained
from reference_impl.broker.broker import Broker
from reference_impl.controller.controller import Controller
from reference_impl.node.step import Reply, RequestReceived, ResponseReceived, Send, TimerFired
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.trace import Traced

Replica = Leader | Follower
Events = Sequence[Traced]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The events of a simulated run, with one mutation: dropped, swapped or altered."""

    kind: str
    number: int  # of the event
    events: tuple[Traced, ...]
    is_equivalent: bool

    def __str__(self) -> str:
        return f"{self.kind} at event {self.number}"


Alteration = Callable[[Traced], Traced | None]
Node = Broker | Controller


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutations:
    """The ways in which a simulated run can be altered, to test trace validation.

    `visible` returns the part of a node's state that the alterations change.
    """

    visible: Callable[[Node], object]  # the part of a node; an event that changes it is a step
    is_part: Callable[[Node, Node, Node], bool]  # before, altered, real: it is a part of the step
    is_private: Callable[[Node, Node], bool]  # before, after: no other node learns of it
    of_steps: Mapping[str, Alteration]
    of_responses: Mapping[str, Alteration]  # events at clients

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("dropped", "swapped", *self.of_steps, *self.of_responses)


def mutants(events: Events, mutations: Mutations, rng: Random, per_kind: int) -> Iterator[Mutant]:
    """Yields copies of a simulated run with one mutation each, at events drawn at random.

    There are at most `per_kind` for each kind of mutation, such as `dropped`.
    """
    steps = [k for k in range(len(events)) if _is_step(events, k, mutations)]
    clients = [k for k, traced in enumerate(events) if not isinstance(traced.after, Node)]
    for kind in mutations.kinds:
        numbers = clients if kind in mutations.of_responses else steps
        drawn = (_made(kind, k, events, mutations) for k in rng.sample(numbers, len(numbers)))
        yield from islice((mutant for mutant in drawn if mutant is not None), per_kind)


def validate_mutants(
    mappings: Sequence[Refinement], events: Events, wrong: Iterable[Mutant]
) -> Iterator[tuple[Mutant, Unexplained | None]]:
    """Yields each mutant, with its first event that a spec rejects. Instead of the event, yields
    None if all specs accept the mutant.
    """
    done = 0
    for mutant in sorted(wrong, key=lambda mutant: mutant.number):
        assert first_unexplained(mappings, events[: mutant.number], done) is None
        done = mutant.number
        forks = [mapping.fork() for mapping in mappings]
        yield mutant, first_unexplained(forks, mutant.events, done)


def _made(kind: str, k: int, events: Events, mutations: Mutations) -> Mutant | None:
    if kind == "dropped":
        rest = (*events[:k], *events[k + 1 :])
        is_visible = _is_received(events, k) and not _is_private(events, k, mutations)
        return Mutant(kind=kind, number=k, events=rest, is_equivalent=not is_visible)
    if kind == "swapped":
        if k + 1 == len(events):
            return None
        swapped = (*events[:k], events[k + 1], events[k], *events[k + 2 :])
        return Mutant(
            kind=kind, number=k, events=swapped, is_equivalent=_commute(events, k, mutations)
        )
    after = {**mutations.of_steps, **mutations.of_responses}[kind](events[k])
    if after is None:
        return None
    altered = (*events[:k], after, *events[k + 1 :])
    late = _is_part(events, k, after, mutations) and not _is_received(events, k)
    return Mutant(kind=kind, number=k, events=altered, is_equivalent=late)


# ---------------------------------------------------------------- equivalence


def _node_before(events: Events, k: int) -> Node | None:
    after = events[k].after
    for traced in reversed(events[:k]):
        if traced.node == events[k].node and isinstance(traced.after, Broker | Controller):
            is_same_life = not isinstance(after, Broker) or (
                isinstance(traced.after, Broker) and traced.after.incarnation == after.incarnation
            )
            return traced.after if is_same_life else None
    return None


def _is_step(events: Events, k: int, mutations: Mutations) -> bool:
    before, after = _node_before(events, k), events[k].after
    if before is None or not isinstance(after, Node):
        return False
    return mutations.visible(after) != mutations.visible(before)


def _is_received(events: Events, k: int) -> bool:
    """True if another node receives a message of event `k` before the sender's next event."""
    sent = _sent(events, k)
    for traced in events[k + 1 :]:
        if traced.node == events[k].node:
            return False
        if _received(traced) in sent:
            return True
    return False


def _is_part(events: Events, k: int, altered: Traced, mutations: Mutations) -> bool:
    before, after, real = _node_before(events, k), altered.after, events[k].after
    return (
        before is not None
        and isinstance(after, Node)
        and isinstance(real, Node)
        and mutations.is_part(before, after, real)
    )


def _is_private(events: Events, k: int, mutations: Mutations) -> bool:
    before, after = _node_before(events, k), events[k].after
    return before is not None and isinstance(after, Node) and mutations.is_private(before, after)


def _commute(events: Events, k: int, mutations: Mutations) -> bool:
    """True if an exchange of the events `k` and `k + 1` has no visible effect."""
    first, second = events[k], events[k + 1]
    if first.node != second.node:
        return _received(second) not in _sent(events, k) or _is_private(events, k, mutations)
    node = _node_before(events, k)
    for traced in (second, first):
        if node is None or not isinstance(
            traced.event, RequestReceived | ResponseReceived | TimerFired
        ):
            return False
        node, _ = node.step(traced.at_ms, traced.event)
        if not isinstance(traced.after, Node) or mutations.visible(node) != mutations.visible(
            traced.after
        ):
            return False
    return True


_Message = tuple[str, NodeId, NodeId, int]  # request or response, sender, receiver, correlation


def _sent(events: Events, k: int) -> set[_Message]:
    traced, before = events[k], _node_before(events, k)
    if before is None or not isinstance(
        traced.event, RequestReceived | ResponseReceived | TimerFired
    ):
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
        case RequestReceived(sender, correlation):
            return "request", sender, traced.node, correlation
        case ResponseReceived(sender, correlation):
            return "response", sender, traced.node, correlation
        case _:
            return None
