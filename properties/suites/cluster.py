"""The machine of a simulated cluster under faults: time passes, brokers crash, links are cut.

A suite that drives a cluster inherits these rules and adds those of its clients. Some rules are
*focused*: they go to the moments where replication is delicate, right at an election.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import BrokerId
from properties.suites.machine import JudgedMachine
from properties.suites.searching import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, PowerLoss

_PAUSES_MS: Final = (5, 40, 150, 400, 900)
_BROKERS: Final = (0, 1, 2)
_NOTICED_MS: Final = 800  # by then a broker that died is out of the ISR, or has come back to it


class ClusterMachine(JudgedMachine):
    """A cluster of three brokers; a suite's machine makes it, adds clients, and ends its run."""

    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        "count": (1, 2, 3),
        "pause_ms": _PAUSES_MS,
        "broker": _BROKERS,
        "sender": _BROKERS,
        "receiver": _BROKERS,
    }

    def __init__(
        self,
        setting: str,
        cluster: Cluster,
        *,
        isolates_leaders: bool = True,
        splits: bool = True,
        failures: int = len(_BROKERS),
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__(setting, bugs=bugs, judge=judge, tally=tally)
        self.cluster = cluster
        self.isolates_leaders = isolates_leaders  # a leader may lose all but its clients
        self.splits = splits  # a broker may lose another
        self.failures = failures  # so many brokers may be away, or not back in sync, at a time
        self._failed_ms: dict[BrokerId, int] = {}

    def steps(self) -> int:
        """How many steps brokers and the controller took."""
        return self.cluster.steps

    # ------------------------------------------------------------ time

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Nothing happens but what is on its way."""
        self.cluster.run_for(pause_ms)

    @precondition(lambda self: not self.leads_well())
    @rule()
    def await_election(self) -> None:
        """Time passes up to the moment at which another leader is elected."""
        before = self.cluster.leader_epoch()
        self.cluster.run_until(
            lambda: self.cluster.leader_epoch() > before and self.cluster.leader() != NO_BROKER,
            600,
        )

    # ------------------------------------------------------------ faults

    @precondition(lambda self: self.leader_is_up())
    @rule()
    def crash_leader(self) -> None:
        """The leader's process dies."""
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: not self.leads_well())
    @rule()
    def crash_leader_at_election(self) -> None:
        """The next leader's process dies at the moment at which it is elected."""
        self.await_election()
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: not self.some_down())
    @rule(broker=st.integers(0, 2))
    def crash(self, broker: int) -> None:
        """A broker's process dies."""
        self.fail(Crash(self.broker(broker)))

    @precondition(lambda self: self.some_down())
    @rule()
    def restart_all(self) -> None:
        """All brokers that are down start again."""
        for broker in self.cluster.broker_ids:
            self.cluster.restart(broker)

    @precondition(lambda self: self.some_down() or self.cluster.is_split())
    @rule()
    def calm_down(self) -> None:
        """Splits end, brokers that are down start again, and time passes until all are in sync."""
        self.cluster.heal()
        self.restart_all()
        self.cluster.run_until(self.cluster.all_in_sync, 1_500)

    @precondition(lambda self: self.isolates_leaders and self.leader_is_up())
    @rule()
    def isolate_leader(self) -> None:
        """The leader loses the other brokers and the controller, and keeps its clients."""
        self.cluster.isolate(self.cluster.leader())

    @rule(sender=st.integers(0, 2), receiver=st.integers(0, 2))
    def split_one_way(self, sender: int, receiver: int) -> None:
        """What one broker sends no longer reaches another."""
        if self.splits and sender != receiver:
            self.cluster.split_one_way(NodeId(self.broker(sender)), NodeId(self.broker(receiver)))

    @rule()
    def heal(self) -> None:
        """Every split ends."""
        self.cluster.heal()

    def fail(self, fault: Crash | PowerLoss) -> None:
        """The fault happens to its broker, unless so many are away that this one has to stay."""
        broker = fault.broker
        away = {other for other in self.cluster.broker_ids if not self._is_whole(other)}
        if broker != NO_BROKER and len({*away, broker}) <= self.failures:
            self._failed_ms[broker] = self.cluster.now_ms
            self.cluster.apply(fault)

    def _is_whole(self, broker: BrokerId) -> bool:
        """It is up and in sync, and not because the controller has yet to notice its last death."""
        since_ms = self.cluster.now_ms - self._failed_ms.get(broker, -_NOTICED_MS)
        is_in_sync = broker in self.cluster.in_sync() and self.cluster.is_up(broker)
        return is_in_sync and since_ms >= _NOTICED_MS

    # ------------------------------------------------------------ looking in

    def broker(self, number: int) -> BrokerId:
        """The broker that an argument of a rule means."""
        return self.cluster.broker_ids[number]

    def leader_is_up(self) -> bool:
        """Someone is chosen to lead, and runs."""
        leader = self.cluster.leader()
        return leader != NO_BROKER and self.cluster.is_up(leader)

    def leads_well(self) -> bool:
        """No election is to be expected."""
        return self.leader_is_up() and not self.cluster.is_split()

    def some_down(self) -> bool:
        """Some broker does not run."""
        return not all(map(self.cluster.is_up, self.cluster.broker_ids))
