"""The suite `replication`: one producer session, one consumer and a cluster of three brokers,
driven by Hypothesis.

The rules send, lose answers, crash, isolate and heal; a focused one goes to the moment right behind
an acknowledgement. A run ends with the end of all faults: the cluster has to recover in bounded
virtual time, and the log is read from its beginning. Then the claims are judged on what the clients
observed.

A `Setting` says under which condition a run stands. Inside the condition of a claim no run may
break it; outside some run does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from model.histories import Send
from properties.claims.replication import ALWAYS, SOMETIMES, Published
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.replication.settings import SETTINGS, Setting
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT


class ReplicationMachine(LeaderFaultsMachine):
    """A cluster under faults, its producer and its consumer."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS: ClassVar[Mapping[str, Setting]] = SETTINGS

    def __init__(
        self,
        setting: str = "idempotent",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._setting = chosen = self.SETTINGS[setting]
        super().__init__(
            setting,
            Cluster(
                min_insync_replicas=chosen.min_insync_replicas,
                unclean_leader_election=chosen.unclean_leader_election,
                bugs=bugs,
            ),
            isolates_leaders=chosen.isolates_leaders,
            splits=chosen.splits,
            failures=chosen.failures,
            bugs=bugs,
            judge=judge,
            tally=tally,
        )
        self._sent = 0
        self._producer = self.cluster.add_producer(self._setting.producer)
        self.cluster.add_consumer(end_offset_every=3)
        self.cluster.run_for(30)  # the producer has its id, the consumer its first end offset

    # ------------------------------------------------------------ clients

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Some values are given to the producer; no time passes."""
        self._send(count)

    @rule(count=st.integers(1, 3))
    def send_and_await(self, count: int) -> None:
        """Some values are sent; time passes until all are acknowledged, or 200 ms."""
        self._send(count)
        self.cluster.run_until(lambda: self.cluster.producer(self._producer).idle, 200)

    @rule(count=st.integers(1, 3))
    def send_and_lose_responses(self, count: int) -> None:
        """Some values are sent and applied; the answers are lost."""
        self.cluster.drop_responses(self._producer, count)
        self._send(count)
        self.cluster.run_for(10)

    @rule(count=st.integers(1, 2))
    def send_and_lose_requests(self, count: int) -> None:
        """Some values are sent and never arrive."""
        for broker in self.cluster.broker_ids:
            self.cluster.split_one_way(self._producer, NodeId(broker))
        self._send(count)
        self.cluster.run_for(10)
        for broker in self.cluster.broker_ids:
            self.cluster.rejoin_one_way(self._producer, NodeId(broker))

    @rule(count=st.integers(1, 2))
    def send_and_crash_leader(self, count: int) -> None:
        """The leader's process dies at the moment at which the last value is acknowledged."""
        self.send_and_await(count)
        self.fail(Crash(self.cluster.leader()))

    # ------------------------------------------------------------ the end

    def end(self) -> object:
        """The cluster recovers, and the log is read."""
        return self.publish()

    def stuck(self) -> str | None:
        """A session that should last has ended."""
        over = self.cluster.producer(self._producer).over
        if not self._setting.session_lasts or over is None:
            return None
        return f"the producer session ended with {over.name}"

    def publish(self) -> Published:
        """What the clients have observed after recovery, the reader of the whole log included."""
        self.cluster.recover()
        log = self.cluster.read_all()
        history = self.cluster.history()
        sessions = {
            operation.process: operation.process // PROCESSES_PER_CLIENT
            for operation in history
            if any(isinstance(did, Send) for did in operation.did)
        }
        return Published(history=history, log=log, sessions=sessions)

    def _send(self, count: int) -> None:
        values = [f"v{self._sent + number}" for number in range(count)]
        self._sent += count
        self.cluster.send(self._producer, *values)
