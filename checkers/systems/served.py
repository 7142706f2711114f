"""The reference broker as a system under test: served in a thread of this process, in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from checkers.systems.system import Ability, Layout, Unable
from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.wire.serve import Served, ServeOptions, serving


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """A served cluster of the reference broker, with brokers numbered from 1."""

    served: Served
    brokers: tuple[int, ...]

    @property
    def name(self) -> str:
        return "served"

    @property
    def bootstrap_servers(self) -> str:
        return self.served.bootstrap_servers

    @property
    def abilities(self) -> frozenset[Ability]:
        return frozenset(_ACTIONS)

    def do(self, action: Ability, broker: int) -> None:
        if action not in _ACTIONS:
            raise Unable(self, action)
        _ACTIONS[action](self.served, BrokerId(broker))

    def await_brokers(self, *brokers: int) -> None:
        self.served.await_calm()


_ACTIONS: Final[Mapping[Ability, Callable[[Served, BrokerId], None]]] = {
    Ability.KILL: Served.kill,
    Ability.START: Served.start,
}


@contextmanager
def running(layout: Layout) -> Generator[ServedCluster]:
    """Serves the reference broker while the block runs.

    Raises InputFault if the layout has settings, which the reference broker does not have.
    """
    if layout.settings or layout.node_settings or layout.features:
        raise InputFault("the reference broker takes no broker settings: use --on apache-kafka")
    with serving(ServeOptions(brokers=layout.brokers)) as served:
        yield ServedCluster(served, tuple(range(1, layout.brokers + 1)))
