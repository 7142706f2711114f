"""The Hypothesis state machine of a cluster with three brokers. Its rules crash and restart
brokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import BrokerId
from properties.suites.machines.driven import DrivenCluster, Power
from properties.suites.machines.event_log import EventLog
from properties.suites.machines.judged import JudgedMachine, Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, PowerLoss
from reference_impl.simulation.trace import Traced

BROKERS: Final = (0, 1, 2)


class ClusterMachine(JudgedMachine):
    """A Hypothesis state machine with a cluster of three brokers.

    A subclass starts the cluster, adds clients and ends the run.
    """

    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {"count": (1, 2, 3), "broker": BROKERS}
    NEEDS: ClassVar[Mapping[str, Power]] = {"crash": Power.KILL, "restart_all": Power.KILL}

    def __init__(
        self,
        setting: str,
        cluster: DrivenCluster,
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__(setting, bugs=bugs, judge=judge, tally=tally)
        self.cluster = cluster
        self._event_log = EventLog(cluster) if isinstance(cluster, Cluster) else None

    def events(self) -> tuple[Traced, ...]:
        cluster = self.cluster
        return tuple(cluster.trace.events) if isinstance(cluster, Cluster) else ()

    def steps(self) -> int:
        return self.cluster.steps

    @property
    def now_ms(self) -> int:
        return self.cluster.now_ms

    def new_events(self) -> tuple[str, ...]:
        return () if self._event_log is None else self._event_log.new_events()

    @precondition(lambda self: not self.some_down())
    @rule(broker=st.integers(0, 2))
    def crash(self, broker: int) -> None:
        """Crashes the process of a broker."""
        self.fail(Crash(self.broker(broker)))

    @precondition(lambda self: self.some_down())
    @rule()
    def restart_all(self) -> None:
        """Restarts all brokers that are down."""
        for broker in self.cluster.broker_ids:
            self.cluster.restart(broker)

    def fail(self, fault: Crash | PowerLoss) -> None:
        self.cluster.apply(fault)

    def cut_requests_of(self, client: NodeId) -> None:
        for broker in self.cluster.broker_ids:
            self.cluster.split_one_way(client, NodeId(broker))

    def restore_requests_of(self, client: NodeId) -> None:
        for broker in self.cluster.broker_ids:
            self.cluster.rejoin_one_way(client, NodeId(broker))

    def broker(self, number: int) -> BrokerId:
        """Returns the broker id for a rule's argument. The argument 0 stands for broker 1."""
        return self.cluster.broker_ids[number]

    def some_down(self) -> bool:
        return not all(map(self.cluster.is_up, self.cluster.broker_ids))
