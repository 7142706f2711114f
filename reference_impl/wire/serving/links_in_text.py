"""Reads the address of a link between two nodes from a text of the command line.

Each line shows a text and its meaning:

    1-2=127.0.0.1:7012             broker 1 reaches broker 2 at this address
    1-controller=127.0.0.1:7010    broker 1 reaches the controller at this address
"""

from __future__ import annotations

import re
from typing import Final

from model.faults import InputFault
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.rule import CONTROLLER_NAME

_NODE: Final = rf"(\d+|{CONTROLLER_NAME})"
_LINK: Final = re.compile(rf"{_NODE}-{_NODE}=(.+):(\d+)", re.ASCII)
LAST_PORT: Final = 65_535


def read_link(text: str) -> tuple[tuple[NodeId, NodeId], Address]:
    """Returns the sender, the receiver and the address of a link, such as `1-2=127.0.0.1:7012`.

    Raises InputFault if the text does not have this form.
    """
    found = _LINK.fullmatch(text)
    if found is None or not 0 < int(found[4]) <= LAST_PORT:
        raise InputFault(
            f"--link {text}: write two nodes and an address, such as 1-2=127.0.0.1:7012 or "
            "1-controller=127.0.0.1:7010"
        )
    sender, receiver = (
        CONTROLLER if name == CONTROLLER_NAME else NodeId(int(name)) for name in found.groups()[:2]
    )
    return (sender, receiver), (found[3], int(found[4]))
