"""The suite `elections`: who is in sync, who may lead, and what is committed, seen from outside and
from inside.

It drives the cluster of the suite `replication`, and goes where elections are in doubt: all brokers
die, one comes back alone, a machine loses power and with it what it had not flushed. What is judged
is every moment of every replica besides what the clients observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from properties.claims.elections import ALWAYS, SOMETIMES, Watched
from properties.suites.elections.settings import SETTINGS
from properties.suites.machines.watching import moments
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.replication.settings import Setting
from reference_impl.simulation.faults import Crash, PowerLoss


class ElectionsMachine(ReplicationMachine):
    """A cluster that is watched, and whose brokers die and come back in every order."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS: ClassVar[Mapping[str, Setting]] = SETTINGS

    @precondition(lambda self: self.some_down())
    @rule(broker=st.integers(0, 2))
    def restart(self, broker: int) -> None:
        """One broker starts again, alone, and the controller has time to notice."""
        self.cluster.restart(self.broker(broker))
        self.cluster.run_for(600)

    @precondition(lambda self: self.leads_well())
    @rule()
    def leave_alone(self) -> None:
        """All but the leader die, and the controller has time to notice."""
        leader = self.cluster.leader()
        for broker in self.cluster.broker_ids:
            if broker != leader:
                self.fail(Crash(broker))
        self.cluster.run_for(600)

    @precondition(lambda self: self.leads_well())
    @rule(count=st.integers(1, 2))
    def take_turns(self, count: int) -> None:
        """The leader goes on alone and dies before it answers; another comes back alone, and is
        told the same again.
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
        """The processes of all brokers die, one right after the other."""
        for broker in self.cluster.broker_ids:
            self.fail(Crash(broker))

    @precondition(lambda self: self.loses_power)
    @rule(broker=st.integers(0, 2))
    def lose_power(self, broker: int) -> None:
        """A machine dies, and with it what it had not flushed."""
        self.fail(PowerLoss(self.broker(broker)))

    @precondition(lambda self: self.loses_power)
    @rule(count=st.integers(1, 2))
    def send_and_lose_power(self, count: int) -> None:
        """Right behind an acknowledgement all machines die that may, the leader's first."""
        self.send_and_await(count)
        leader = self.cluster.leader()
        for broker in sorted(self.cluster.broker_ids, key=lambda broker: broker != leader):
            self.fail(PowerLoss(broker))

    @property
    def loses_power(self) -> bool:
        """Machines die in this setting, not only processes."""
        return self._setting.loses_power

    def end(self) -> Watched:
        """The cluster recovers, the log is read, and the trace is looked through."""
        published = self.publish()
        return Watched(
            published=published,
            moments=tuple(moments(self.cluster)),
            min_insync_replicas=self._setting.min_insync_replicas,
        )
