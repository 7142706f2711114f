"""The options of a cluster that clients reach over the network, and the checks of the options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.wire.connections.in_flight import IN_FLIGHT, InFlightLimits
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.cluster_faults import check_rule
from reference_impl.wire.faults.rule import BadFault, Crash, Rule, Start
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.security.settings import NO_SECURITY, Security

MOST_BROKERS: Final = 16
LAST_PORT: Final = 65_535
CALM_WITHIN_S: Final = 20.0


class CannotServe(InputFault):
    """Raised if the cluster cannot start. The message has the cause and a remedy."""


def port_in_use(host: str, port: int, error: OSError) -> CannotServe:
    return CannotServe(f"{host}:{port}: {error.strerror}; port 0 selects free ports")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of a cluster that clients reach over the network. Its brokers are numbered
    from 1.
    """

    brokers: int = 3
    address: str = "127.0.0.1"
    # The port of the first broker; 0 selects free ports.
    port: int = 0
    # The hosts and ports to which clients connect, which may be those of proxies.
    advertised: tuple[Address, ...] = ()  # one for each broker; (): where it listens
    bugs: Bugs = NO_BUGS
    faults: tuple[Rule, ...] = ()
    seed: int = 0
    control: int | None = None  # port on loopback of the control port; 0 selects a free one
    applied_log: Path | None = None
    fault_log: Path | None = None  # a line with the time of each kill and restart
    broker_settings: BrokerSettings = SERVED
    auto_creates_topics: bool = False  # auto.create.topics.enable
    link_ms: int = 0  # delay of each message between nodes
    # With `processes`, the controller listens for brokers on this port. Broker N listens for other
    # nodes N ports above it. 0 selects free ports.
    link_port: int = 0
    # With `processes`, the address at which the first node of a pair reaches the second node. By
    # default, this is the address at which the second node listens.
    links: Mapping[tuple[NodeId, NodeId], Address] = field(default_factory=dict)
    in_flight: InFlightLimits = IN_FLIGHT
    data_dir: Path | None = None  # None: the data is in memory only
    processes: bool = False  # each broker has a process of its own
    security: Security = NO_SECURITY

    def __post_init__(self) -> None:
        if not 1 <= self.brokers <= MOST_BROKERS:
            raise CannotServe(f"{self.brokers} brokers: the number must be 1 to {MOST_BROKERS}")
        if not 0 <= self.port <= LAST_PORT - self.brokers + 1:
            raise CannotServe(
                f"port {self.port} is the first of {self.brokers}: the last port is {LAST_PORT}; "
                "port 0 selects free ports"
            )
        if self.advertised and len(self.advertised) != self.brokers:
            raise CannotServe(
                f"{len(self.advertised)} advertised addresses of {self.brokers} brokers: name one "
                "for each broker, or none"
            )
        for rule in self.faults:
            check_rule(rule, self.broker_ids, processes=self.processes)
            crashes = isinstance(rule.fault, Crash) and rule.then is not None
            if self.brokers == 1 and (crashes or isinstance(rule.fault, Start)):
                raise BadFault(
                    "broker",
                    "a restart needs at least two brokers: the others count requests until it",
                )
        if self.processes:
            self._check_links()
        elif self.links or self.link_port:
            raise CannotServe("--link and --link-port need --processes: add it")
        if self.control is not None and not 0 <= self.control <= LAST_PORT:
            raise CannotServe(f"control port {self.control}: the last port is {LAST_PORT}")

    def _check_links(self) -> None:
        if not 0 <= self.link_port <= LAST_PORT - self.brokers:
            raise CannotServe(
                f"link port {self.link_port} is the first of {self.brokers + 1}: the last port is "
                f"{LAST_PORT}; 0 selects free ports"
            )
        nodes = {CONTROLLER, *map(NodeId, self.broker_ids)}
        for sender, receiver in self.links:
            if sender == receiver or not {sender, receiver} <= nodes:
                raise CannotServe(
                    f"a link from node {sender} to node {receiver}: name two nodes, which are "
                    f"controller and 1 to {self.brokers}"
                )

    @property
    def broker_ids(self) -> tuple[BrokerId, ...]:
        return tuple(BrokerId(number) for number in range(1, self.brokers + 1))
