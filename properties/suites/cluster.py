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
from reference_impl.bugs import NO_BUGS, Bugs
from reference_impl.messages import NO_BROKER, NodeId
from reference_impl.simulation.cluster import Cluster

_PAUSES_MS: Final = (5, 40, 150, 400, 900)
_BROKERS: Final = (0, 1, 2)


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
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__(setting, bugs=bugs, judge=judge, tally=tally)
        self.cluster = cluster
        self.isolates_leaders = isolates_leaders  # a leader may lose all but its clients

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
        self.cluster.crash(self.cluster.leader())

    @precondition(lambda self: not self.leads_well())
    @rule()
    def crash_leader_at_election(self) -> None:
        """The next leader's process dies at the moment at which it is elected."""
        self.await_election()
        self.cluster.crash(self.cluster.leader())

    @precondition(lambda self: not self.some_down())
    @rule(broker=st.integers(0, 2))
    def crash(self, broker: int) -> None:
        """A broker's process dies."""
        self.cluster.crash(self.broker(broker))

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
        if sender != receiver:
            self.cluster.split_one_way(NodeId(self.broker(sender)), NodeId(self.broker(receiver)))

    @rule()
    def heal(self) -> None:
        """Every split ends."""
        self.cluster.heal()

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
