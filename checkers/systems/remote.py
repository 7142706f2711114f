"""A cluster that Urteil did not start. Clients connect to it, but no fault is injected into it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from checkers.systems.system import Ability, Unable
from model.faults import InputFault

_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,/\[\]]+):\d{1,5}")


@dataclass(frozen=True, slots=True)
class Remote:
    """A cluster that already runs, identified by the addresses of its brokers. Raises InputFault if
    an address is malformed.
    """

    bootstrap_servers: str
    called: str = ""  # what `--on` names it, if not by its address

    def __post_init__(self) -> None:
        for address in self.bootstrap_servers.split(","):
            if _ADDRESS.fullmatch(address) is None:
                raise InputFault(
                    f"{address!r} is not an address; name a cluster as HOST:PORT,HOST:PORT"
                )

    @property
    def name(self) -> str:
        return self.called or self.bootstrap_servers

    @property
    def brokers(self) -> tuple[int, ...]:
        return ()

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset()

    @property
    def proxies(self) -> None:
        return None

    def do(self, action: Ability, broker: int) -> NoReturn:
        raise Unable(self, action)

    def await_brokers(self, *brokers: int) -> None:
        assert not brokers, "the brokers of a remote cluster have no numbers"
