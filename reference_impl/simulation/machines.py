"""The simulated machines of a cluster, each with a broker and a disk, and the faults of these
machines.

The method `apply` carries out a fault at once, except the fault `On`, which waits for certain
requests. The content of the disk after a fault depends on the kind of the fault.

Source: docs/kafka-rules.md B9.
"""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerEpoch, BrokerId, TopicPartition
from reference_impl.broker.broker import Broker, Disk
from reference_impl.broker.config import BrokerConfig
from reference_impl.node.step import RequestReceived, Timer, TimerFired, TimerKind
from reference_impl.protocol.messages import (
    CONTROLLER,
    FIRST_CLIENT,
    UNKNOWN_BROKER_EPOCH,
    NodeId,
)
from reference_impl.protocol.reassignment import AlterReassignment
from reference_impl.simulation import disks, faults
from reference_impl.simulation.faults import Crash, Die, Fault, OfLinks, On, PowerLoss
from reference_impl.simulation.network import Conditions, Link
from reference_impl.simulation.world import World


class Machines(World):
    """The brokers 1 to `brokers`. Each broker runs on a machine with its own disk."""

    def __init__(self, seed: int, conditions: Conditions, brokers: int, like: BrokerConfig) -> None:
        super().__init__(seed, conditions)
        self._like = like
        self._disks: dict[BrokerId, Disk] = {}
        self._clean: dict[BrokerId, BrokerEpoch] = {}  # the files that clean shutdowns leave
        self._incarnations = 0
        self.broker_ids = tuple(BrokerId(number) for number in range(1, brokers + 1))

    def is_up(self, broker: BrokerId) -> bool:
        return NodeId(broker) in self._nodes

    def is_split(self) -> bool:
        return bool(self._network.split)

    def cut_links(self) -> frozenset[tuple[NodeId, NodeId]]:
        return frozenset((link.source, link.target) for link in self._network.split)

    def apply(self, fault: Fault) -> None:
        match fault:
            case faults.Crash(broker):
                self.crash(broker)
            case faults.ShutDown(broker):
                self.shut_down(broker)
            case faults.PowerLoss(broker, kept_percent, garbled):
                self.lose_power(broker, kept_percent, garbled=garbled)
            case faults.ReplaceDisk(broker):
                self.replace_disk(broker)
            case faults.Restart(broker):
                self.restart(broker)
            case faults.Reassign(topic_partition, replicas):
                self.reassign(topic_partition, replicas)
            case faults.On():
                self._armed.arm(fault)
            case _:
                self._apply_to_links(fault)
        self.trace.add(self.now_ms, CONTROLLER, fault, None)

    def _apply_to_links(self, fault: OfLinks) -> None:
        match fault:
            case faults.Isolate(broker):
                self.isolate(broker)
            case faults.Split(one, other):
                self.split(one, other)
            case faults.OneWaySplit(source, target):
                self.split_one_way(source, target)
            case faults.Heal():
                self.heal()
            case faults.DropResponses(client, count):
                self.drop_responses(client, count)

    def crash(self, broker: BrokerId) -> None:
        """Kills the process of a broker. Does nothing if the broker is down, or if `broker` is
        NO_BROKER.
        """
        if broker not in self.broker_ids:
            return
        node = self._nodes.pop(NodeId(broker), None)
        if isinstance(node, Broker):
            self._disks[broker] = node.disk()
            self._end_life(NodeId(broker))

    def shut_down(self, broker: BrokerId) -> None:
        """Begins a clean shutdown of the broker. The broker stops after the controller has fenced
        it.
        """
        node = NodeId(broker)
        if node in self._nodes:
            shut_down = TimerFired(Timer(TimerKind.SHUT_DOWN))
            self._scheduler.schedule(self.now_ms, (node, self._lives.get(node, 0), shut_down))

    def lose_power(self, broker: BrokerId, kept_percent: int = 0, *, garbled: bool = False) -> None:
        """Cuts the power of a broker's machine. Only `kept_percent` of the unflushed bytes of each
        log reach the disk.

        If `garbled`, the final bytes that reach the disk are corrupted. If `broker` is NO_BROKER,
        the method does nothing.
        """
        if broker not in self.broker_ids:
            return
        self.crash(broker)
        self._disks[broker] = {
            place: disks.after_power_loss(log, kept_percent=kept_percent, garbled=garbled)
            for place, log in self._disks[broker].items()
        }

    def replace_disk(self, broker: BrokerId) -> None:
        if broker not in self.broker_ids:
            return
        self.crash(broker)
        self._disks[broker] = {}

    def restart(self, broker: BrokerId) -> None:
        if NodeId(broker) not in self._nodes:
            self._start(broker, self._disks[broker])

    def reassign(
        self, topic_partition: TopicPartition, replicas: tuple[BrokerId, ...] | None
    ) -> None:
        """Sends the controller a request to move the topic partition to the brokers `replicas`.

        If `replicas` is None, the request cancels the reassignment in progress. The controller may
        reject the request.
        """
        request = AlterReassignment(topic_partition=topic_partition, replicas=replicas)
        self._deliver_now(CONTROLLER, RequestReceived(FIRST_CLIENT, 0, request))

    def _die(self, node: NodeId, fault: On) -> None:
        assert isinstance(fault.does, Die)
        broker, kept_percent = BrokerId(node), fault.does.kept_percent
        self.apply(Crash(broker) if kept_percent is None else PowerLoss(broker, kept_percent))

    def _stop(self, node: NodeId) -> None:
        broker = self._nodes.pop(node)
        assert isinstance(broker, Broker)
        self._disks[BrokerId(node)] = broker.disk()
        self._clean[BrokerId(node)] = broker.broker_epoch
        self._end_life(node)

    def isolate(self, broker: BrokerId) -> None:
        """Cuts the broker's links to the controller and to all other brokers. The links to
        clients still work.
        """
        if broker not in self.broker_ids:
            return
        node = NodeId(broker)
        for other in (CONTROLLER, *map(NodeId, self.broker_ids)):
            if other != node:
                self.split(node, other)

    def split(self, one: NodeId, other: NodeId) -> None:
        self.split_one_way(one, other)
        self.split_one_way(other, one)

    def split_one_way(self, source: NodeId, target: NodeId) -> None:
        self._network.split_one_way(source, target)

    def rejoin_one_way(self, source: NodeId, target: NodeId) -> None:
        self._network.split.pop(Link(source, target), None)

    def heal(self) -> None:
        self._network.heal()

    def drop_responses(self, client: NodeId, count: int = 1) -> None:
        """Drops the next `count` responses to a client. The cluster has applied the requests of
        these responses.
        """
        self._network.responses_to_drop[client] = count

    def _start(self, broker: BrokerId, disk: Disk) -> None:
        self._incarnations += 1
        node, effects = Broker.start(
            self.now_ms,
            config=replace(self._like, broker_id=broker),
            incarnation=self._incarnations,
            disk=disk,
            previous_broker_epoch=self._clean.pop(broker, UNKNOWN_BROKER_EPOCH),
        )
        self._nodes[NodeId(broker)] = node
        self._carry_out(NodeId(broker), effects)
