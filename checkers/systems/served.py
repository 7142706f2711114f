"""The reference broker, which is Urteil's own broker, as a system under test. It runs in a thread
of this process, and stores its data in memory.

The brokers exchange messages in memory, so no proxies stand between them. Proxies can stand between
clients and brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Final

from checkers.systems.ports import HOST, consecutive
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.proxies.rules import CLIENT
from checkers.systems.system import Ability, Layout, Unable
from model.faults import InputFault
from model.vocabulary import BrokerId
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from reference_impl.wire.serving.start_configs import started_with

DEFAULT: Final = ServeOptions()


@dataclass(frozen=True, slots=True)
class ServedCluster:
    served: Served
    brokers: tuple[int, ...]
    proxies: Proxies | None

    @property
    def name(self) -> str:
        return "served"

    @property
    def bootstrap_servers(self) -> str:
        return self.served.bootstrap_servers

    @property
    def abilities(self) -> frozenset[Ability]:
        return ABILITIES

    def do(self, action: Ability, broker: int) -> None:
        if action not in _ACTIONS:
            raise Unable(self, action)
        _ACTIONS[action](self.served, BrokerId(broker))

    def await_brokers(self, *brokers: int) -> None:
        self.served.await_calm()


_ACTIONS: Final[Mapping[Ability, Callable[[Served, BrokerId], None]]] = {
    Ability.KILL: Served.kill,
    Ability.START: Served.start,
    Ability.LOSE_POWER: Served.lose_power,
}
ABILITIES: Final = frozenset(_ACTIONS) | {Ability.CONFIGURE, Ability.DELETE_RECORDS}


@contextmanager
def running(layout: Layout, options: ServeOptions = DEFAULT) -> Generator[ServedCluster]:
    """Serves the reference broker (Urteil's own broker) until the `with` block ends. Raises
    InputFault for a setting that the reference broker does not support.
    """
    if layout.node_settings or layout.features:
        raise InputFault(
            "the reference broker has no settings of one node and no features: "
            "use --on apache-kafka"
        )
    texts = (f"{name}={value}" for name, value in layout.settings.items())
    options = replace(options, broker_settings=started_with(texts, options.broker_settings))
    brokers = tuple(range(1, layout.brokers + 1))
    with ExitStack() as closing:
        options, proxies = replace(options, brokers=layout.brokers), None
        if layout.proxied:
            proxies = closing.enter_context(Proxies())
            first = consecutive(layout.brokers)
            advertised = (
                proxies.open(CLIENT, broker, HOST, 0, HOST, first + index)
                for index, broker in enumerate(brokers)
            )
            options = replace(
                options, port=first, advertised=tuple((HOST, port) for port in advertised)
            )
        served = closing.enter_context(serving(options))
        yield ServedCluster(served, brokers, proxies)
