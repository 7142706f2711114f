"""The network addresses of a cluster's nodes, and the network partitions between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.processes.settings import Places


@dataclass(slots=True)
class ClusterPlaces:
    """The addresses of a cluster's nodes, and the network partitions between the nodes.

    A node that starts again listens at its old ports.
    """

    options: ServeOptions
    _clients: dict[BrokerId, Address] = field(default_factory=dict)  # where brokers listen
    _links: dict[NodeId, Address] = field(default_factory=dict)  # where nodes listen
    _split: set[frozenset[NodeId]] = field(default_factory=set)

    def found(self, node: NodeId, clients: Address | None, link: Address) -> None:
        """Stores the addresses at which a node listens. `link` is its address for other nodes.
        `clients` is its address for clients, or None for the controller.
        """
        self._links[node] = link
        if clients is not None:
            self._clients[BrokerId(node)] = clients

    @property
    def addresses(self) -> Mapping[BrokerId, Address]:
        """The address of each broker in Metadata responses."""
        brokers = self.options.broker_ids
        listens = self.options.advertised or [self._clients[one] for one in brokers]
        return dict(zip(brokers, listens, strict=True))

    def client_port(self, broker: BrokerId) -> int:
        """Returns the broker's port for clients, or 0 if the broker may select any free port."""
        first = self.options.port + broker - 1 if self.options.port else 0
        return self._clients.get(broker, ("", first))[1]

    def link_port(self, node: NodeId) -> int:
        """Returns the node's port for other nodes, or 0 if the node may select any free port."""
        above = 0 if node == CONTROLLER else node
        first = self.options.link_port + above if self.options.link_port else 0
        return self._links.get(node, ("", first))[1]

    def of(self, node: NodeId) -> Places:
        links = self.options.links
        return Places(
            clients={} if node == CONTROLLER else self.addresses,
            links={to: links.get((node, to), listens) for to, listens in self._links.items()},
            separated=self.separated(node),
        )

    def split(self, one_side: Iterable[NodeId], other_side: Iterable[NodeId]) -> None:
        others = [*other_side]
        self._split |= {frozenset({one, other}) for one in one_side for other in others}

    def heal(self) -> None:
        self._split.clear()

    def separated(self, node: NodeId) -> frozenset[NodeId]:
        """Returns the nodes that a network partition separates from `node`."""
        pairs = (pair for pair in self._split if node in pair)
        return frozenset(other for pair in pairs for other in pair if other != node)
