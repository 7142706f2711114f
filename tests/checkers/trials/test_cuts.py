"""Faults of a real cluster: isolated brokers, power losses, and changes by an administrator.

Proxies between the nodes isolate a broker. A power loss removes all data that the broker has not
flushed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from checkers.systems.administration import Refused
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.served import ServedCluster, running
from checkers.systems.system import Ability
from checkers.trials import cluster as cluster_of_trials
from checkers.trials.broker_faults import BrokerFaults
from checkers.trials.cluster import RealTimeCluster
from checkers.trials.connections import discovered
from checkers.trials.layout import REFERENCE
from checkers.trials.pace import Pace
from checkers.trials.powers import powers_of
from model.vocabulary import BrokerId
from properties.suites.machines.driven import Power
from reference_impl.simulation import faults


@dataclass(frozen=True)
class OfProcesses:
    """The served reference broker, as a stand-in for a system whose brokers are processes.

    It declares every ability of a system, and proxies can cut its links.
    """

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


def test_an_administrator_changes_the_topics_of_the_trial_and_a_refusal_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[tuple[str, object]] = []

    class Recorded:
        def reassign(self, replicas: object) -> None:
            requests.append(("reassign", replicas))

        def elect(self, places: object) -> None:
            requests.append(("elect", places))
            raise Refused("NOT_CONTROLLER", "")

    monkeypatch.setattr(cluster_of_trials, "administration_of", lambda _system, _broker: Recorded())
    with running(REFERENCE) as served:
        cluster = RealTimeCluster(
            BrokerFaults(served), discovered(served.bootstrap_servers), pace=Pace(3), prefix="t-"
        )
        cluster.move_away(BrokerId(2))
        cluster.move_back(BrokerId(2))
        cluster.elect_preferred()
        assert requests == [
            ("reassign", {("t-orders", 0): (1, 3)}),
            ("reassign", {("t-orders", 0): (1, 3, 2)}),
            ("elect", [("t-orders", 0)]),
        ]
        assert [one.fault for one in cluster.inflicted] == [
            "all replicas leave broker 2",
            "broker 2 gets its replicas back, as the last ones",
            "the preferred leaders are elected",
            "the request is refused: NOT_CONTROLLER",
        ]
        cluster.close()


def test_a_broker_loses_power_with_all_that_it_did_not_flush() -> None:
    with running(replace(REFERENCE, brokers=1)) as served:
        cluster = RealTimeCluster(
            BrokerFaults(served), discovered(served.bootstrap_servers), pace=Pace(3), prefix="t-"
        )
        producer = cluster.add_producer()
        cluster.send(producer, "a")
        cluster.run_for(1_000)
        assert cluster.end_offset() == 1
        cluster.apply(faults.PowerLoss(BrokerId(1)))
        assert not cluster.is_up(BrokerId(1))
        cluster.recover()
        assert cluster.end_offset() == 0
        assert [one.fault for one in cluster.inflicted] == [
            "broker 1 is killed",
            "broker 1 loses power, and all that was not flushed",
            "broker 1 is started",
        ]
        cluster.close()
