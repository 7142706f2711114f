"""The system under test: a running cluster with an address, and the faults that can be injected
into it.

The abilities of a system are the actions that it supports. Each line below has a system and its
abilities:

    apache-kafka:4.3.0      every action, because each node is a process of this machine
    served                  kill, start and power loss: the reference broker, run inside Urteil
    HOST:PORT               no action, because somebody else runs the cluster

If a claim needs an action that the system does not support, the verdict on the claim is
`undecided`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from checkers.systems.proxies.proxies import Proxies
from model.faults import InputFault

Settings = Mapping[str, str]
SESSION: Final = "broker.session.timeout.ms"
SESSION_MS: Final = 4_000  # a broker that a busy machine stalls for two seconds is not fenced


class Ability(StrEnum):
    """An action that a system may support, such as the kill of a broker."""

    KILL = "kill"  # SIGKILL: no clean shutdown; what the process wrote survives
    STOP = "stop"  # SIGTERM: a controlled shutdown, until the process has ended
    START = "start"  # of a broker that is down, with its old disk; does not wait until it is ready
    PAUSE = "pause"  # SIGSTOP: the broker does not notice the time that passes
    RESUME = "resume"  # SIGCONT
    WIPE = "wipe"  # deletes every replica of a broker that is down
    LOSE_POWER = "power-loss"  # SIGKILL if it is up; every record that was not flushed is gone
    ELECT = "elect"  # requests from here on: the preferred leaders, or unclean ones
    REASSIGN = "reassign"
    CONFIGURE = "configure"
    DELETE_RECORDS = "delete-records"


class System(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def brokers(self) -> tuple[int, ...]: ...

    @property
    def abilities(self) -> frozenset[Ability]: ...

    @property
    def proxies(self) -> Proxies | None:
        """The proxies on all connections, or None if the system has no proxies."""
        ...

    def do(self, action: Ability, broker: int) -> None:
        """Performs the action on the broker. Raises Unable if the system does not support the
        action.
        """
        ...

    def await_brokers(self, *brokers: int) -> None:
        """Waits until the brokers accept clients. Raises SystemFailed after a timeout."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The description of a cluster to start: the number of its brokers, and their settings. The
    brokers have the ids 1, 2, 3 and so on.
    """

    brokers: int = 3
    settings: Settings = field(default_factory=dict[str, str])  # of every node
    # The settings of one node, by number.
    node_settings: Mapping[int, Settings] = field(default_factory=dict[int, Settings])
    # Finalized when the storage is formatted, such as `{"eligible.leader.replicas.version": 0}`.
    features: Mapping[str, int] = field(default_factory=dict[str, int])
    proxied: bool = False  # a proxy stands in each link, of nodes and of clients
    traced: bool = False  # each node writes a TRACE log, for `urteil trace`
    disks: int = 1  # log directories of each broker; the first also has its metadata

    @property
    def session_s(self) -> float:
        return int(self.settings.get(SESSION, SESSION_MS)) / 1000


class SystemFailed(InputFault):
    """Raised if a node does not start, or if a node dies although no fault was injected. The
    message names the node and its log.
    """


class Unable(RuntimeError):
    """Raised if the system does not support an action. A caller avoids it by a check of the
    system's `abilities`.
    """

    def __init__(self, system: System, action: Ability) -> None:
        super().__init__(f"{system.name} lacks the ability {action}")
