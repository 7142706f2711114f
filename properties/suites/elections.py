"""The suite `elections`: who is in sync, who may lead, and what is committed, seen from outside and
from inside.

It drives the cluster of the suite `replication`, and goes where elections are in doubt: all brokers
die, one comes back alone, a machine loses power and with it what it had not flushed. What is judged
is every moment of every replica besides what the clients observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from properties.claims.elections import ALWAYS, SOMETIMES, Watched
from properties.suites.replication import ReplicationMachine, Setting
from properties.suites.suite import Suite, inside, outside
from properties.suites.watching import moments
from reference_impl.node.bugs import Bug
from reference_impl.protocol.messages import ACKS_LEADER
from reference_impl.simulation.faults import Crash, PowerLoss
from reference_impl.simulation.producer import ProducerConfig

SETTINGS: Final = {
    "clean": Setting(
        says="acks=all, min.insync.replicas=2, clean elections; processes die, links are cut",
        producer=ProducerConfig(),
    ),
    "min.insync.replicas=1": Setting(
        says="acks=all, min.insync.replicas=1, clean elections; processes die, links are cut",
        producer=ProducerConfig(),
        min_insync_replicas=1,
    ),
    "acks=1": Setting(
        says="acks=1, min.insync.replicas=2, clean elections; leaders are cut off",
        producer=ProducerConfig(acks=ACKS_LEADER),
    ),
    "unclean": Setting(
        says="acks=all, min.insync.replicas=1, and whoever lives may lead",
        producer=ProducerConfig(),
        min_insync_replicas=1,
        unclean_leader_election=True,
    ),
    "power loss": Setting(
        says="acks=all, min.insync.replicas=1; any number of machines lose power",
        producer=ProducerConfig(),
        min_insync_replicas=1,
        loses_power=True,
    ),
    "two failures": Setting(
        says="acks=all, min.insync.replicas=2; two of three machines at a time, no link is cut",
        producer=ProducerConfig(),
        isolates_leaders=False,
        splits=False,
        loses_power=True,
        failures=2,
    ),
    "three failures": Setting(
        says="as two failures, but all three machines may lose power at a time",
        producer=ProducerConfig(),
        isolates_leaders=False,
        splits=False,
        loses_power=True,
    ),
}


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


SUITE: Final = Suite(
    name="elections",
    says="who is in sync, who leads and what is committed while brokers die in every order",
    machine=ElectionsMachine,
    inside=(
        *(
            inside(claim, "clean", SETTINGS["clean"].says)
            for claim in (
                "committed_definition",
                "identical_replicas",
                "min_isr_refuses",
                "clean_election",
                "wait_for_last_leader",
            )
        ),
        inside("writes_to_leader", "acks=1", "a stale leader's own is replaced"),
        inside("survives_f_failures", "two failures", "the third has everything"),
        inside("isr_shrinks", "min.insync.replicas=1", "alone in sync, the leader goes on"),
        inside("unclean_election", "unclean", "who lacks the end of the log leads"),
    ),
    outside=(
        outside("clean_election", "unclean", "the last in sync is away, and another leads"),
        outside("wait_for_last_leader", "unclean", "nobody waits"),
        outside("wait_for_last_leader", "power loss", "it comes back without its end"),
        outside("writes_to_leader", "unclean", "what was committed is replaced"),
        outside("identical_replicas", "unclean", "who was away has other records"),
        outside("survives_f_failures", "three failures", "nobody has it any more"),
        outside("isr_shrinks", "clean", "below its minimum the high watermark stands still"),
        outside("unclean_election", "min.insync.replicas=1", "the last one in sync is awaited"),
        outside(
            "committed_definition",
            "clean",
            "a member of the set forgets what it had",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "committed_definition",
            "clean",
            "committed by the leader alone",
            Bug.MINIMUM_IGNORED,
        ),
        outside(
            "min_isr_refuses",
            "clean",
            "acknowledged before anybody else has it",
            Bug.ACK_BEFORE_REPLICATION,
        ),
        outside("min_isr_refuses", "clean", "weakly accepted", Bug.MINIMUM_IGNORED),
        outside(
            "clean_election",
            "clean",
            "who was in sync forgot what it had",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "survives_f_failures",
            "two failures",
            "only the leader had it",
            Bug.ACK_BEFORE_REPLICATION,
        ),
    ),
)
