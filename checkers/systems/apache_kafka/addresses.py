"""Chooses the addresses of the nodes: where each node listens, and where other nodes connect to it.

If the cluster has proxies, a proxy stands between each ordered pair of nodes. Each of these proxies
has its own address 127.0.X.Y, so it knows both nodes of its connections. An example:

    node 1 opens `n2:19094`, which is 127.0.11.12:19094 in its hosts file
    the proxy of 1 -> 2 listens at 127.0.11.12:19094 and connects to 127.0.0.1:19094

Source: JDK 17, the system property `jdk.net.hosts.file`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from checkers.systems.ports import HOST, free_ports
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.proxies.rules import CLIENT

CONTROLLER: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports at which a node listens for other nodes (`internal`) and for clients (`client`).

    Clients connect to the port `advertised`. If the cluster has proxies, `advertised` is the port
    of a proxy. Without proxies, it equals `client`.
    """

    internal: int
    client: int
    advertised: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    ports: Mapping[int, Ports]
    proxied: bool

    @classmethod
    def free(cls, nodes: Iterable[int], *, proxied: bool) -> Addresses:
        free = free_ports()
        ports: dict[int, Ports] = {}
        for node in nodes:
            internal, client = next(free), next(free)
            advertised = next(free) if proxied else client
            ports[node] = Ports(internal=internal, client=client, advertised=advertised)
        return cls(ports=ports, proxied=proxied)

    def host(self, node: int) -> str:
        return f"n{node}" if self.proxied else HOST

    def hosts_file(self, node: int) -> str:
        """Returns the text of the hosts file of one node. The file has a line such as
        `127.0.11.12 n2` for each node.

        The line for another node has the address of the proxy to this other node. The line for the
        node itself has the address 127.0.0.1.
        """
        return "".join(f"{_link(node, other)} n{other}\n" for other in self.ports)

    def open(self, proxies: Proxies) -> None:
        """Opens a proxy from each node to each other node, and a proxy from the clients to each
        broker.
        """
        for receiver, ports in self.ports.items():
            for sender in self.ports:
                if sender != receiver:
                    at, port = _link(sender, receiver), ports.internal
                    proxies.open(sender, receiver, at, port, HOST, port)
            if receiver != CONTROLLER:
                proxies.open(CLIENT, receiver, HOST, ports.advertised, HOST, ports.client)


def _link(sender: int, receiver: int) -> str:
    return HOST if sender == receiver else f"127.0.{10 + sender}.{10 + receiver}"
