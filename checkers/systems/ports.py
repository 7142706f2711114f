"""Finds free ports on loopback. The ports are below the range that the operating system uses for
outgoing connections.

While a broker is down, the operating system could use a port within that range for an outgoing
connection. If this were the port of the broker, the broker could not start again.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Generator
from itertools import pairwise
from typing import Final

HOST: Final = "127.0.0.1"
FIRST_PORT, LAST_PORT = 19_092, 29_092


def free_ports() -> Generator[int]:
    """Yields free ports. The search begins at a random port and goes upwards. After the highest
    port, it continues from the lowest port.
    """
    # Because of the random beginning, two clusters rarely try the same port.
    begin = random.SystemRandom().randrange(FIRST_PORT, LAST_PORT)
    for port in (*range(begin, LAST_PORT), *range(FIRST_PORT, begin)):
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)):
                yield port


def consecutive(count: int) -> int:
    found: list[int] = []
    for port in free_ports():
        found = [*found, port][-count:]
        if len(found) == count and all(b - a == 1 for a, b in pairwise(found)):
            return found[0]
    raise AssertionError("ten thousand ports are in use")
