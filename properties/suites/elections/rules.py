"""The Hypothesis rules of the suite `elections`: brokers crash and return in every order.

The rules lead to the most difficult elections: all brokers crash, or one returns alone. A broker's
host may also lose power, and with it the records that were not flushed. The claims are checked on
the history of the clients and on the state of each replica after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from properties.claims.elections import ALWAYS, SOMETIMES, Watched
from properties.suites.elections.settings import SETTINGS
from properties.suites.machines.driven import Power
from properties.suites.machines.watching import ShowsReplicas, moments
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.replication.settings import Setting
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, PowerLoss


class ElectionsMachine(ReplicationMachine):
    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS: ClassVar[Mapping[str, Setting]] = SETTINGS
    CLAIM_NEEDS: ClassVar[Mapping[str, Power]] = dict.fromkeys(ALWAYS, Power.KILL)
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = dict.fromkeys(SETTINGS, Power.INSIDE)
    # the states of replicas are followed on three brokers
    TRIAL_RULES: ClassVar[Mapping[str, Callable[[Any], bool]]] = {
        rule: condition
        for rule, condition in ReplicationMachine.TRIAL_RULES.items()
        if rule != "move_leader"
    }
    NEEDS: ClassVar[Mapping[str, Power]] = {
        **ReplicationMachine.NEEDS,
        "restart": Power.KILL,
        "leave_alone": Power.KILL,
        "take_turns": Power.KILL,
        "crash_all": Power.KILL,
        "lose_power": Power.LOSE_POWER,
        "send_and_lose_power": Power.LOSE_POWER,
    }

    @precondition(lambda self: self.some_down())
    @rule(broker=st.integers(0, 2))
    def restart(self, broker: int) -> None:
        """Restarts one broker, and waits until the controller has noticed.

        The rule waits for 600 ms of virtual time, in which the controller registers the broker
        again.
        """
        self.cluster.restart(self.broker(broker))
        self.cluster.run_for(600)

    @precondition(lambda self: self.leads_well())
    @rule()
    def leave_alone(self) -> None:
        """Crashes all brokers except the leader, and waits until the controller has noticed.

        The rule waits for 600 ms of virtual time, in which the sessions of the crashed brokers end.
        """
        leader = self.cluster.leader()
        for broker in self.cluster.broker_ids:
            if broker != leader:
                self.fail(Crash(broker))
        self.cluster.run_for(600)

    @precondition(lambda self: self.leads_well())
    @rule(count=st.integers(1, 2))
    def take_turns(self, count: int) -> None:
        """Crashes the only live broker before it responds to a send, and then restarts another
        broker.

        First, one value is sent, and then all brokers except the leader crash. The leader is now
        the only live broker. It appends `count` values, and crashes before the producer receives a
        response. The producer then sends the same values to the restarted broker.
        """
        self.send_and_await(1)
        leader = self.cluster.leader()
        self.leave_alone()
        self.send_and_lose_responses(count)
        self.fail(Crash(leader))
        self.restart(0 if leader != self.broker(0) else 1)
        self.cluster.run_for(400)

    @rule()
    def crash_all(self) -> None:
        """Crashes all brokers, one directly after the other."""
        for broker in self.cluster.broker_ids:
            self.fail(Crash(broker))

    @precondition(lambda self: self.loses_power)
    @rule(broker=st.integers(0, 2))
    def lose_power(self, broker: int) -> None:
        """Cuts the power of a broker's host: the broker loses its unflushed records."""
        self.fail(PowerLoss(self.broker(broker)))

    @precondition(lambda self: self.loses_power)
    @rule(count=st.integers(1, 2))
    def send_and_lose_power(self, count: int) -> None:
        """Sends values; after their acknowledgement, all hosts lose power, first the host of the
        leader.
        """
        self.send_and_await(count)
        leader = self.cluster.leader()
        for broker in sorted(self.cluster.broker_ids, key=lambda broker: broker != leader):
            self.fail(PowerLoss(broker))

    @property
    def loses_power(self) -> bool:
        return self._setting.loses_power

    def end(self) -> Watched:
        published = self.publish()
        cluster = self.cluster
        assert isinstance(cluster, Cluster | ShowsReplicas), "no look inside"
        seen = cluster.moments() if isinstance(cluster, ShowsReplicas) else moments(cluster)
        return Watched(
            published=published,
            moments=tuple(seen),
            min_insync_replicas=self._setting.min_insync_replicas,
        )
