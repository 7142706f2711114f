"""The state machine of a cluster whose leaders crash at elections, and whose links are cut.

*Focused* rules lead the cluster directly to its most fragile moments: just before an election and
during an election.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.vocabulary import BrokerId
from properties.suites.machines.cluster import BROKERS, ClusterMachine
from properties.suites.machines.driven import Administers, DrivenCluster, PausesBrokers, Power
from properties.suites.machines.judged import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.faults import Crash, PowerLoss

_PAUSES_MS: Final = (5, 40, 150, 400, 900)
_PAUSED_MS: Final = 600  # until another broker leads
_NOTICED_MS: Final = 800  # the time in which a dead broker leaves the ISR, or returns to it


class LeaderFaultsMachine(ClusterMachine):
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **ClusterMachine.SIMPLER,
        "pause_ms": _PAUSES_MS,
        "sender": BROKERS,
        "receiver": BROKERS,
    }
    NEEDS: ClassVar[Mapping[str, Power]] = {
        **ClusterMachine.NEEDS,
        "crash_leader": Power.KILL,
        "crash_leader_at_election": Power.KILL,
        "isolate_leader": Power.CUT,
        "split_one_way": Power.CUT,
        "pause_leader": Power.PAUSE,
        "move_leader": Power.ADMINISTER,
        "elect_preferred": Power.ADMINISTER,
        "roll_segments": Power.ADMINISTER,
    }
    # A leader that is paused or replaced may answer before it learns of the next one.
    TRIAL_RULES: ClassVar[Mapping[str, Callable[[Any], bool]]] = {
        "pause_leader": lambda self: self.isolates_leaders and self.leader_is_up(),
        "move_leader": lambda self: self.isolates_leaders and self.leads_well(),
        "elect_preferred": lambda self: self.isolates_leaders and self.leads_well(),
        "roll_segments": lambda self: self.leads_well(),
    }

    def __init__(
        self,
        setting: str,
        cluster: DrivenCluster,
        *,
        isolates_leaders: bool = True,
        splits: bool = True,
        failures: int = len(BROKERS),
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__(setting, cluster, bugs=bugs, judge=judge, tally=tally)
        self.isolates_leaders = isolates_leaders  # a leader may keep its clients alone
        self.splits = splits  # a link between two brokers may be cut
        self.failures = failures  # brokers that may be down or out of sync at the same time
        self._failed_ms: dict[BrokerId, int] = {}

    # ------------------------------------------------------------ time

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Lets `pause_ms` of virtual time pass."""
        self.cluster.run_for(pause_ms)

    @precondition(lambda self: not self.leads_well())
    @rule()
    def await_election(self) -> None:
        """Waits until a new leader is elected, at most 600 ms.

        Each election begins a new leader epoch, even if the same broker is elected again.
        """
        before = self.cluster.leader_epoch()
        self.cluster.run_until(
            lambda: self.cluster.leader_epoch() > before and self.cluster.leader() != NO_BROKER,
            600,
        )

    # ------------------------------------------------------------ faults

    @precondition(lambda self: self.leader_is_up())
    @rule()
    def crash_leader(self) -> None:
        """Crashes the process of the leader."""
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: not self.leads_well())
    @rule()
    def crash_leader_at_election(self) -> None:
        """Waits for the election of the next leader, and then crashes its process at once."""
        self.await_election()
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: self.some_down() or self.cluster.is_split())
    @rule()
    def calm_down(self) -> None:
        """Heals all links, restarts all brokers that are down, and waits until all replicas are in
        sync.

        The rule waits at most 1500 ms of virtual time.
        """
        self.cluster.heal()
        self.restart_all()
        self.cluster.run_until(self.cluster.all_in_sync, 1_500)

    @precondition(lambda self: self.isolates_leaders and self.leader_is_up())
    @rule()
    def isolate_leader(self) -> None:
        """Cuts the leader off from the controller and the other brokers, but not from clients."""
        self.cluster.isolate(self.cluster.leader())

    @rule(sender=st.integers(0, 2), receiver=st.integers(0, 2))
    def split_one_way(self, sender: int, receiver: int) -> None:
        """Cuts the link from one broker to another, in this direction only."""
        if self.splits and sender != receiver:
            self.cluster.split_one_way(NodeId(self.broker(sender)), NodeId(self.broker(receiver)))

    @rule()
    def heal(self) -> None:
        """Heals all links."""
        self.cluster.heal()

    def pause_leader(self) -> None:
        """Pauses the process of the leader for 600 ms, and then resumes it."""
        assert isinstance(self.cluster, PausesBrokers), "no broker of this cluster can be paused"
        leader = self.cluster.leader()
        self._failed_ms[leader] = self.cluster.now_ms + _PAUSED_MS
        self.cluster.pause(leader)
        self.cluster.run_for(_PAUSED_MS)
        self.cluster.resume(leader)

    def fail(self, fault: Crash | PowerLoss) -> None:
        """Applies the fault if at most `self.failures` brokers are then down or out of sync.

        Otherwise, or if the fault names no broker, the method does nothing.
        """
        broker = fault.broker
        away = {other for other in self.cluster.broker_ids if not self._is_in_sync(other)}
        if broker != NO_BROKER and len({*away, broker}) <= self.failures:
            self._failed_ms[broker] = self.cluster.now_ms
            self.cluster.apply(fault)

    def _is_in_sync(self, broker: BrokerId) -> bool:
        since_ms = self.cluster.now_ms - self._failed_ms.get(broker, -_NOTICED_MS)
        is_in_sync = broker in self.cluster.in_sync() and self.cluster.is_up(broker)
        return is_in_sync and since_ms >= _NOTICED_MS

    # ------------------------------------------------------------ an administrator

    def move_leader(self) -> None:
        """Moves all replicas of the leader's broker to other brokers. After an election, moves them
        back.

        A replica that was moved back is the last one in the replica list of its partition.
        """
        cluster = self._administered()
        leader = self.cluster.leader()
        cluster.move_away(leader)
        self.cluster.run_until(lambda: self.cluster.leader() not in {leader, NO_BROKER}, 600)
        cluster.move_back(leader)

    def elect_preferred(self) -> None:
        """Makes the first replica of each partition the leader, if this replica is in sync."""
        self._administered().elect_preferred()

    def roll_segments(self) -> None:
        """Configures all topics so that almost every append begins a new segment.

        Internal topics keep their configuration.
        """
        self._administered().roll_segments()

    def _administered(self) -> Administers:
        assert isinstance(self.cluster, Administers), "no topic of this cluster can be changed"
        return self.cluster

    # ------------------------------------------------------------ the state of the cluster

    def leader_is_up(self) -> bool:
        leader = self.cluster.leader()
        return leader != NO_BROKER and self.cluster.is_up(leader)

    def leads_well(self) -> bool:
        """Returns True if the leader is up and no link is cut, so no election is due."""
        return self.leader_is_up() and not self.cluster.is_split()
