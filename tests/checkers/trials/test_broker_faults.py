"""Several trials share the brokers of a system; a fault that two trials cause happens once.

For example, a broker that two trials pause is paused once and resumed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from checkers.systems.system import Ability
from checkers.trials.broker_faults import BrokerFaults
from model.vocabulary import BrokerId

ONE = BrokerId(1)


@dataclass
class Recorded:
    """A system that only records what is done to its brokers."""

    done: list[tuple[Ability, int]] = field(default_factory=list[tuple[Ability, int]])
    name = "recorded"
    bootstrap_servers = ""
    brokers = (1, 2, 3)
    abilities = frozenset(Ability)
    proxies = None

    def do(self, action: Ability, broker: int) -> None:
        self.done.append((action, broker))

    def await_brokers(self, *brokers: int) -> None:
        pass


def test_a_broker_is_paused_once_and_resumed_once_and_counts_as_up() -> None:
    system = Recorded()
    brokers = BrokerFaults(system)
    brokers.pause(ONE)
    brokers.pause(ONE)  # by another trial
    assert brokers.is_up(ONE)
    brokers.stop(ONE)  # it would not end
    brokers.resume(ONE)
    brokers.resume(ONE)
    assert system.done == [(Ability.PAUSE, 1), (Ability.RESUME, 1)]
    assert [one.fault for one in brokers.inflicted] == ["broker 1 is paused", "broker 1 is resumed"]


def test_a_paused_broker_that_is_killed_is_not_resumed() -> None:
    system = Recorded()
    brokers = BrokerFaults(system)
    brokers.pause(ONE)
    brokers.kill(ONE)
    brokers.resume(ONE)
    brokers.pause(ONE)
    assert system.done == [(Ability.PAUSE, 1), (Ability.KILL, 1)]


def test_a_broker_that_stops_cleanly_is_down_until_it_is_started() -> None:
    system = Recorded()
    brokers = BrokerFaults(system)
    brokers.stop(ONE)
    brokers.stop(ONE)
    assert not brokers.is_up(ONE)
    brokers.start(ONE)
    assert brokers.is_up(ONE)
    assert system.done == [(Ability.STOP, 1), (Ability.START, 1)]
    assert [(life.broker, life.is_up) for life in brokers.lives] == [(1, False), (1, True)]
