"""The settings of one start of a node's process, and the addresses of all nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.vocabulary import BrokerId
from reference_impl.protocol.controller import NO_METADATA, MetadataImage
from reference_impl.protocol.messages import NodeId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.serving.options import ServeOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The settings of one start of a node's process. If a port is 0, the node selects a free port.
    `options` names the data directory.

    Only a broker has the last three fields. `port` is its port for clients. `incarnation` is a
    number that is larger at each start. `image` is the metadata, by which the broker decides which
    of its logs it retains.
    """

    options: ServeOptions
    node: NodeId
    link_port: int
    secret: bytes = field(repr=False)
    ahead_s: float  # the cluster's clock minus the monotonic clock, which processes share
    port: int = 0
    incarnation: int = 0
    image: MetadataImage = NO_METADATA

    @property
    def broker_id(self) -> BrokerId:
        return BrokerId(self.node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The addresses that one node receives: those of the brokers for clients, and those of all
    nodes for other nodes. This node and the nodes in `separated` lose all messages to each other.
    """

    clients: Mapping[BrokerId, Address]
    links: Mapping[NodeId, Address]
    separated: frozenset[NodeId] = frozenset()
