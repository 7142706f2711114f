"""The faults of a cluster: crashes, network partitions, elections, reassignments and so on.

A fault happens in one of two ways:

    at once          the control port carries out the fault, and answers when it has happened; a
                     fault that cannot happen raises BadFault
    by a request     a client's request triggers the fault; the request does not wait for the fault
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import ElectedLeader, ElectLeader
from reference_impl.protocol.messages import ErrorCode, NodeId
from reference_impl.protocol.reassignment import AlteredReassignment, AlterReassignment
from reference_impl.protocol.requests import Request, Response
from reference_impl.wire.faults.rule import (
    CONTROLLER_NAME,
    AdvanceClock,
    BadFault,
    Crash,
    Elect,
    Heal,
    LosePower,
    Node,
    OfCluster,
    OfOneBroker,
    Pause,
    Reassign,
    Resume,
    Rule,
    Split,
    Start,
    name_of,
    node_of,
)

SPREADS_WITHIN_S: Final = 3.0  # metadata, to all brokers that run


class Faulty(Protocol):
    @property
    def brokers(self) -> tuple[BrokerId, ...]: ...

    @property
    def processes(self) -> bool:
        """True if each node has a process of its own."""
        ...

    async def call_controller(self, request: Request) -> Response:
        """Sends a request to the controller, and returns the response. Raises BadFault if the
        controller does not respond.
        """
        ...

    def is_up(self, node: NodeId) -> bool: ...

    def is_paused(self, node: NodeId) -> bool: ...

    def pause(self, node: NodeId) -> None: ...

    def resume(self, node: NodeId) -> None: ...

    async def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None: ...

    async def heal(self) -> None: ...

    async def advance_clock(self, ms: int) -> None: ...

    async def spread(self, within_s: float) -> None:
        """Waits until the running brokers have applied the current metadata, but at most
        `within_s` seconds.
        """
        ...

    async def kill(self, node: NodeId) -> None: ...

    async def lose_power(self, broker_id: BrokerId) -> None: ...

    async def restart(self, node: NodeId) -> None: ...


async def carry_out(cluster: Faulty, fault: OfCluster) -> None:
    """Carries out a fault of the cluster. Raises BadFault if the fault is impossible now, for
    example the crash of a broker that is down.
    """
    await _ACTIONS[type(fault)](cluster, fault)


def has_happened(cluster: Faulty, fault: OfCluster) -> bool:
    """Returns True if the fault has already happened: a crash or a power loss of a node that is
    down, or a start of a node that is up. Returns False for all other faults.
    """
    match fault:
        case Crash(broker=broker) | LosePower(broker=broker):
            return not cluster.is_up(node_of(broker))
        case Start(broker=broker):
            return cluster.is_up(node_of(broker))
        case _:
            return False


def check_rule(rule: Rule, brokers: tuple[BrokerId, ...], *, processes: bool, at: str = "") -> None:
    """Raises BadFault if a rule names a fault or a node that the cluster cannot have. The rule in
    `then` is checked, too.

    `processes` is True if each node has a process of its own. `at` is the path of the rule in the
    user's input. The error names the wrong field by a path that begins with `at`.
    """
    fault = rule.fault
    if isinstance(fault, LosePower) and processes:
        why = "a broker that is a process has no power to lose; use crash"
        raise BadFault(f"{at}do", why)
    if isinstance(fault, OfOneBroker) and fault.broker == CONTROLLER_NAME and not processes:
        why = "the controller has a process of its own only with --processes; name a broker"
        raise BadFault(f"{at}broker", why)
    named: list[tuple[str, Node]] = [("broker", getattr(fault, "broker", None) or brokers[0])]
    if isinstance(fault, Split):
        named += [("brokers", one) for one in fault.brokers]
        named += [("others", one) for one in fault.others or ()]
    if rule.when is not None and rule.when.broker is not None:
        named.append(("when.broker", rule.when.broker))
    for name, broker in named:
        if broker not in (*brokers, CONTROLLER_NAME):
            place = f"{at}{name}"
            raise BadFault(place, f"{broker} must be {brokers[0]} to {brokers[-1]}")
    if rule.then is not None:
        check_rule(rule.then, brokers, processes=processes, at=f"{at}then.")


# ---------------------------------------------------------------- one function for each fault


async def _crash(cluster: Faulty, fault: Crash) -> None:
    _need(cluster, fault.broker, up=True)
    await cluster.kill(node_of(fault.broker))


async def _lose_power(cluster: Faulty, fault: LosePower) -> None:
    _need(cluster, fault.broker, up=True)
    await cluster.lose_power(fault.broker)


async def _start(cluster: Faulty, fault: Start) -> None:
    _need(cluster, fault.broker, up=False)
    await cluster.restart(node_of(fault.broker))


async def _pause(cluster: Faulty, fault: Pause) -> None:
    _need(cluster, fault.broker, up=True)
    cluster.pause(node_of(fault.broker))


async def _resume(cluster: Faulty, fault: Resume) -> None:
    _need(cluster, fault.broker, up=True)
    cluster.resume(node_of(fault.broker))


async def _split(cluster: Faulty, fault: Split) -> None:
    others = fault.others
    if others is None:
        brokers = cluster.brokers
        others = (CONTROLLER_NAME, *(one for one in brokers if one not in fault.brokers))
    await cluster.split(map(NodeId, fault.brokers), map(node_of, others))


async def _heal(cluster: Faulty, fault: Heal) -> None:
    del fault
    await cluster.heal()


async def _elect(cluster: Faulty, fault: Elect) -> None:
    place = TopicPartition(fault.topic, fault.partition)
    request = ElectLeader(topic_partition=place, broker=fault.broker)
    response = await cluster.call_controller(request)
    assert isinstance(response, ElectedLeader)
    if response.error is not ErrorCode.NONE:
        raise BadFault("broker" if fault.broker else "partition", response.message)
    await cluster.spread(SPREADS_WITHIN_S)


async def _reassign(cluster: Faulty, fault: Reassign) -> None:
    place = TopicPartition(fault.topic, fault.partition)
    request = AlterReassignment(topic_partition=place, replicas=fault.replicas)
    response = await cluster.call_controller(request)
    assert isinstance(response, AlteredReassignment)
    if response.error is not ErrorCode.NONE:
        unknown = response.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        why = response.message or response.error.name
        raise BadFault("partition" if unknown else "replicas", why)
    await cluster.spread(SPREADS_WITHIN_S)


async def _advance(cluster: Faulty, fault: AdvanceClock) -> None:
    await cluster.advance_clock(fault.ms)


def _need(cluster: Faulty, broker: Node, *, up: bool) -> None:
    node = node_of(broker)
    if cluster.is_up(node) != up:
        state = "down; start it first" if up else "up; crash it first"
        raise BadFault("broker", f"{name_of(node)} is {state}")


_ACTIONS: Final[Mapping[type[OfCluster], Callable[[Faulty, Any], Awaitable[None]]]] = {
    Crash: _crash,
    LosePower: _lose_power,
    Start: _start,
    Pause: _pause,
    Resume: _resume,
    Split: _split,
    Heal: _heal,
    Elect: _elect,
    Reassign: _reassign,
    AdvanceClock: _advance,
}
