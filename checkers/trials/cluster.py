"""Injects the faults of one trial (a test run) into a real cluster.

The class `RealTimeCluster` has the same interface as the simulated cluster, so the state machines
of the suites can use a real or a simulated cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final

from checkers.systems.administration import (
    TOPIC_RESOURCE,
    Administration,
    Place,
    Refused,
    administration_of,
)
from checkers.systems.proxies.active_rules import ActiveRule
from checkers.systems.proxies.rules import Cut
from checkers.systems.system import Ability
from checkers.trials.broker_faults import BrokerFaults, Inflicted
from checkers.trials.clients import INTERNAL_TOPICS
from checkers.trials.connections import Addresses
from checkers.trials.inside import inside_of
from checkers.trials.links import is_between_brokers, node, proxied
from checkers.trials.pace import Pace
from checkers.trials.powers import powers_of
from checkers.trials.watched import LOOK_EVERY_MS, WatchedTopics
from model.vocabulary import BrokerId
from properties.claims.elections import Moment
from properties.suites.machines.driven import TOPIC_PARTITION, Power
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.simulation import faults
from reference_impl.simulation.cluster import QUICK
from reference_impl.simulation.network import Link
from reference_impl.simulation.producer import Producer

STARTS_WITHIN_MS: Final = 3_000


class RealTimeCluster(WatchedTopics):
    def __init__(
        self,
        brokers: BrokerFaults,
        addresses: Addresses,
        *,
        pace: Pace,
        prefix: str,
        min_insync_replicas: int = 1,
        unclean_leader_election: bool = False,
        broker_settings: BrokerSettings = QUICK,
        bugs: Bugs = NO_BUGS,
        verifies_transactions: bool = True,
    ) -> None:
        del broker_settings, verifies_transactions  # of the broker: the layout has what it can have
        assert not bugs, "only the simulated broker has seeded bugs"
        can_kill = Ability.KILL in brokers.system.abilities  # else no fault needs the coordinators
        super().__init__(addresses, pace=pace, prefix=prefix, knows_coordinators=can_kill)
        self._brokers = brokers
        self._system = brokers.system
        self._trial = prefix
        self._inflicted: list[Inflicted] = []
        self._inside = inside_of(self._system, f"{prefix}{TOPIC_PARTITION}")
        self._held: dict[Link, ActiveRule] = {}  # the links between nodes that are cut
        self._armed: list[ActiveRule] = []  # the rules on requests between brokers
        self._has_processes = Ability.PAUSE in self._system.abilities
        self._starting: dict[BrokerId, asyncio.Future[None]] = {}  # until they accept clients
        self._moving: dict[BrokerId, asyncio.Future[None]] = {}
        self._brokers.join(self._trial)
        try:
            self.create_topic(
                CreateTopic(
                    topic=TOPIC_PARTITION.topic,
                    replication_factor=min(3, len(self.broker_ids)),
                    min_insync_replicas=min_insync_replicas,
                    unclean_leader_election=unclean_leader_election,
                )
            )
        except BaseException:
            self.close()
            raise

    def run_for(self, duration_ms: int) -> None:
        """Waits until the brokers that are being started accept clients, and then runs the clients
        for `duration_ms` milliseconds of virtual time.
        """
        starting, self._starting = self._starting, {}
        # A process of Kafka takes seconds to start.
        self.run_until(
            lambda: all(it.done() or not self.is_up(broker) for broker, it in starting.items()),
            STARTS_WITHIN_MS,
        )
        super().run_for(duration_ms)

    # ------------------------------------------------------------ faults

    @property
    def powers(self) -> frozenset[Power]:
        """The powers that the system supports. A power is a kind of fault, a setting, or a view of
        the state of replicas.
        """
        return powers_of(self._system)

    def apply(self, fault: faults.Fault) -> None:
        match fault:
            case faults.Crash(broker):
                self.crash(broker)
            case faults.ShutDown(broker):
                self.shut_down(broker)
            case faults.PowerLoss(broker):  # nothing is left of what was not flushed
                self.lose_power(broker)
            case faults.Restart(broker):
                self.restart(broker)
            case faults.ReplaceDisk(broker):
                self.replace_disk(broker)
            case faults.DropResponses(client, count):
                self.drop_responses(client, count)
            case faults.OneWaySplit(source, target):
                self.split_one_way(source, target)
            case faults.Heal():
                self.heal()
            case faults.On():
                self._note(f"the next {fault.count} of {fault.api}: {fault.does}")
                if is_between_brokers(fault):
                    assert self._system.proxies is not None, "nothing is between the brokers"
                    self._armed.append(self._system.proxies.add(proxied(fault, self._pace)))
                else:
                    self._runtime.armed.arm(fault)
            case _:
                raise AssertionError(f"{self._system.name} cannot suffer {fault}")

    @property
    def inflicted(self) -> tuple[Inflicted, ...]:
        """The faults since this trial (a test run) began, in the order of their times. Faults that
        other trials injected into the brokers at the same time are included.
        """
        of_brokers = [one for one in self._brokers.inflicted if one.at_ns >= self._pace.began_ns]
        return tuple(sorted((*self._inflicted, *of_brokers), key=lambda one: one.at_ns))

    def is_up(self, broker: BrokerId) -> bool:
        return broker in self.broker_ids and self._brokers.is_up(broker)

    def crash(self, broker: BrokerId) -> None:
        if self.is_up(broker):
            self._await_move(broker)
            self._brokers.kill(broker)
            self._look_inside()

    def shut_down(self, broker: BrokerId) -> None:
        """Begins to stop the broker cleanly. `is_up` returns True until the broker's process has
        ended.
        """
        if self.is_up(broker):
            self._await_move(broker)
            self._move(broker, partial(self._brokers.stop, broker))

    def restart(self, broker: BrokerId) -> None:
        if broker in self.broker_ids and not self.is_up(broker):
            self._look_inside()
            self._move(broker, partial(self._brokers.start, broker))
            if self._has_processes:
                self._starting[broker] = self._runtime.in_background(partial(self._ready, broker))

    def pause(self, broker: BrokerId) -> None:
        if self.is_up(broker):
            self._await_move(broker)
            self._brokers.pause(broker)

    def resume(self, broker: BrokerId) -> None:
        self._brokers.resume(broker)

    def move_away(self, broker: BrokerId) -> None:
        self._note(f"all replicas leave broker {broker}")
        self._reassign(broker, ())

    def move_back(self, broker: BrokerId) -> None:
        self._note(f"broker {broker} gets its replicas back, as the last ones")
        self._reassign(broker, (broker,))

    def elect_preferred(self) -> None:
        self._note("the preferred leaders are elected")
        self._administer(lambda admin: admin.elect([*self._places()]))

    def roll_segments(self) -> None:
        self._note("almost every append begins a new segment")
        for topic in {topic for topic, _ in self._places()}:
            self._administer(
                partial(
                    Administration.configure,
                    kind=TOPIC_RESOURCE,
                    resource=topic,
                    name="segment.ms",
                    value="1",
                )
            )

    def _reassign(self, broker: BrokerId, last: tuple[BrokerId, ...]) -> None:
        replicas = (*(other for other in self.broker_ids if other != broker), *last)
        self._administer(lambda admin: admin.reassign(dict.fromkeys(self._places(), replicas)))

    def _places(self) -> Iterator[Place]:
        for place in self.topic_partitions():
            if place.topic not in INTERNAL_TOPICS:
                yield f"{self._trial}{place.topic}", place.index

    def _administer(self, request: Callable[[Administration], None]) -> None:
        try:
            request(administration_of(self._system, next(filter(self.is_up, self.broker_ids))))
        except (OSError, Refused) as fault:
            self._note(f"the request is refused: {fault}")

    def replace_disk(self, broker: BrokerId) -> None:
        if broker in self.broker_ids:
            self._await_move(broker)
            self._brokers.wipe(broker)

    def lose_power(self, broker: BrokerId) -> None:
        if broker in self.broker_ids:
            self._await_move(broker)
            self._look_inside()
            self._brokers.lose_power(broker)

    def isolate(self, broker: BrokerId) -> None:
        if broker in self.broker_ids:
            isolated = NodeId(broker)
            for other in (CONTROLLER, *map(NodeId, self.broker_ids)):
                if other != isolated:
                    self.split_one_way(isolated, other)
                    self.split_one_way(other, isolated)

    def split_one_way(self, source: NodeId, target: NodeId) -> None:
        link = Link(source, target)
        if source in self._runtime.clients:
            self._note(f"requests of client {source} to broker {target} are lost")
            self._runtime.cut.add(link)
        elif link not in self._held:
            assert self._system.proxies is not None, "no link between brokers can be cut"
            self._note(f"node {source} no longer reaches node {target}")
            cut = Cut(sender=node(source), receiver=node(target))
            self._held[link] = self._system.proxies.add(cut)

    def rejoin_one_way(self, source: NodeId, target: NodeId) -> None:
        self._note(f"requests of client {source} to broker {target} arrive again")
        self._runtime.cut.discard(Link(source, target))

    def is_split(self) -> bool:
        return bool(self._runtime.cut or self._held)

    def heal(self) -> None:
        if self.is_split() or any(self._runtime.responses_to_drop.values()):
            self._note("all links are restored")
        if self._held and self._system.proxies is not None:
            self._look_inside()
            self._system.proxies.lift(*self._held.values())
        self._held.clear()
        self._runtime.cut.clear()
        self._runtime.responses_to_drop.clear()

    def drop_responses(self, client: NodeId, count: int = 1) -> None:
        self._note(f"the next {count} responses to client {client} are lost")
        self._runtime.responses_to_drop[client] = count

    # ------------------------------------------------------------ recovery

    def close(self) -> None:
        """Stops all clients, ends all faults of links and requests, and starts every broker that is
        down.
        """
        self._brokers.calm(self._trial)
        self._calm_down()
        self._await_moves()
        self._runtime.close()
        self._system.await_brokers(*self._system.brokers)

    def recover(self, within_ms: int = 20_000, *, programs: Collection[NodeId] = ()) -> None:
        self._brokers.calm(self._trial)
        self._until(lambda: self._brokers.is_calm, within_ms, "the faults of other trials")
        self._calm_down()
        self._await_moves()
        ready = self._runtime.in_background(self._await_brokers)
        self._until(ready.done, within_ms, "starting all brokers")
        ready.result()
        self.run_for(LOOK_EVERY_MS * 2 * len(self.broker_ids))  # no metadata from before remains

        def is_calm() -> bool:
            led = all(self.is_up(state.leader) for state in self._seen.values())
            clients = self._runtime.clients.values()
            idle = all(client.idle for client in clients if isinstance(client, Producer))
            return led and self.all_in_sync() and idle and all(map(self.is_over, programs))

        self._until(is_calm, within_ms, "recovering after the last fault")

    def _calm_down(self) -> None:
        self.heal()
        self._runtime.armed.disarm()
        if self._armed and self._system.proxies is not None:
            self._system.proxies.lift(*self._armed)
            self._armed.clear()
        for broker in self.broker_ids:
            self.resume(broker)
            self.restart(broker)

    def _ready(self, broker: BrokerId) -> None:
        self._brokers.start(broker)
        self._system.await_brokers(broker)

    def _await_brokers(self) -> None:
        self._system.await_brokers(*self._system.brokers)

    def _move(self, broker: BrokerId, action: Callable[[], None]) -> None:
        self._moving[broker] = self._runtime.in_background(action)

    def _await_move(self, broker: BrokerId) -> None:
        move = self._moving.pop(broker, None)
        if move is not None:
            self._runtime.loop.run_until_complete(move)

    def _await_moves(self) -> None:
        for broker in tuple(self._moving):
            self._await_move(broker)

    def _note(self, fault: str) -> None:
        self._inflicted.append(Inflicted.now(fault))

    # ------------------------------------------------------------ a look inside

    def moments(self) -> tuple[Moment, ...]:
        """Returns the states of the topic partition `orders-0`: one at its creation, and one after
        each change. The brokers must write TRACE logs.
        """
        assert self._inside is not None, f"{self._system.name} shows no states of replicas"
        return tuple(self._inside.moments(self._brokers.lives, self._pace.virtual_ms))

    def _look_inside(self) -> None:
        if self._inside is not None:
            self._inside.look()
