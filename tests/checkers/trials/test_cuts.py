"""Cuts of links between nodes, through the proxies of a system."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checkers.systems.proxies.proxies import Proxies
from checkers.systems.served import ServedCluster, running
from checkers.systems.system import Ability
from checkers.trials.broker_faults import BrokerFaults
from checkers.trials.cluster import RealTimeCluster
from checkers.trials.connections import discovered
from checkers.trials.layout import REFERENCE
from checkers.trials.pace import Pace
from checkers.trials.powers import powers_of
from model.vocabulary import BrokerId
from properties.suites.machines.driven import Power


@dataclass(frozen=True)
class OfProcesses:
    """The served system, as if its brokers were processes whose links proxies can cut."""

    served: ServedCluster

    name = "processes"
    abilities = frozenset(Ability)

    @property
    def bootstrap_servers(self) -> str:
        return self.served.bootstrap_servers

    @property
    def brokers(self) -> tuple[int, ...]:
        return self.served.brokers

    @property
    def proxies(self) -> Proxies | None:
        return self.served.proxies

    def do(self, action: Ability, broker: int) -> None:
        self.served.do(action, broker)

    def await_brokers(self, *brokers: int) -> None:
        self.served.await_brokers(*brokers)


def test_an_isolated_broker_loses_its_links_to_all_nodes_until_they_are_healed() -> None:
    with running(replace(REFERENCE, proxied=True)) as served:
        system = OfProcesses(served)
        assert Power.CUT in powers_of(system)
        assert Power.CUT not in powers_of(served)
        cluster = RealTimeCluster(
            BrokerFaults(system), discovered(system.bootstrap_servers), pace=Pace(3), prefix="t-"
        )
        cluster.isolate(BrokerId(2))
        assert cluster.is_split()
        said = [one.fault for one in cluster.inflicted]
        assert sorted(said) == sorted(
            f"node {one} no longer reaches node {other}"
            for pair in ((2, -1), (2, 1), (2, 3))
            for one, other in (pair, pair[::-1])
        )
        cluster.isolate(BrokerId(2))
        assert len(cluster.inflicted) == len(said)  # a link is cut once
        cluster.heal()
        assert not cluster.is_split()
        assert cluster.inflicted[-1].fault == "all links are restored"
        cluster.close()
