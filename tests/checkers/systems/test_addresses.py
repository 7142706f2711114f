"""Ports are free and distinct; with proxies each link between two nodes has its own address."""

from __future__ import annotations

import socket

from checkers.systems.apache_kafka.addresses import CONTROLLER, Addresses
from checkers.systems.ports import HOST, consecutive
from checkers.systems.proxies.proxies import Proxies

NODES = (CONTROLLER, 1, 2)


def test_without_proxies_every_node_is_on_one_host() -> None:
    addresses = Addresses.free(NODES, proxied=False)
    assert {addresses.host(node) for node in NODES} == {HOST}
    assert all(ports.advertised == ports.client for ports in addresses.ports.values())


def test_with_proxies_no_two_links_share_an_address() -> None:
    addresses = Addresses.free(NODES, proxied=True)
    files = {node: addresses.hosts_file(node).splitlines() for node in NODES}
    assert files[1] == ["127.0.11.10 n0", "127.0.0.1 n1", "127.0.11.12 n2"]
    links = [line.split()[0] for lines in files.values() for line in lines]
    between = [address for address in links if address != HOST]
    assert len(set(between)) == len(between) == len(NODES) * (len(NODES) - 1)


def test_ports_are_distinct() -> None:
    addresses = Addresses.free(NODES, proxied=True)
    used = [
        port
        for ports in addresses.ports.values()
        for port in (ports.internal, ports.client, ports.advertised)
    ]
    assert len(set(used)) == len(used) == 3 * len(NODES)


def test_a_proxy_of_a_link_connects_to_the_listener_of_its_receiver() -> None:
    addresses = Addresses.free(NODES, proxied=True)
    port = addresses.ports[2].internal
    with Proxies() as proxies, socket.create_server((HOST, port)) as node:
        addresses.open(proxies)
        with socket.create_connection(("127.0.11.12", port)) as sender:
            accepted, _ = node.accept()
            with accepted:
                sender.sendall(b"\x00\x00\x00\x0a" + b"\x00\x00\x00\x00" + b"\x00" * 6)
                assert accepted.recv(4) == b"\x00\x00\x00\x0a"


def test_consecutive_ports_follow_each_other_and_are_free() -> None:
    first = consecutive(3)
    for port in range(first, first + 3):
        with socket.create_server((HOST, port)):
            pass
