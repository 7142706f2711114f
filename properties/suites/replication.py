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
from dataclasses import dataclass
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from model.histories import Send
from properties.claims.replication import ALWAYS, SOMETIMES, Published
from properties.suites.cluster import ClusterMachine
from properties.suites.searching import Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.messages import ACKS_LEADER, ACKS_NONE, NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT, ProducerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The producer's and the topic's configuration: a condition of claims, or its opposite."""

    says: str
    producer: ProducerConfig
    min_insync_replicas: int = 2
    session_lasts: bool = False  # no error may end the session
    isolates_leaders: bool = True  # a leader may lose the controller and keep its clients
    splits: bool = True  # links between brokers are cut
    unclean_leader_election: bool = False
    loses_power: bool = False  # machines die, and with them what was not flushed
    failures: int = 3  # so many brokers at a time


SETTINGS: Final = {
    "idempotent": Setting(
        says="idempotence, acks=all, retries until acknowledged, five in flight, clean elections",
        producer=ProducerConfig(),
        session_lasts=True,
    ),
    # A leader that was cut off does not know that it was replaced, and answers whoever still asks
    # it: Kafka has no lease that would stop it. Such an answer is not read at the leader.
    "read at the leader": Setting(
        says="as idempotent, and no leader is cut off from the controller but not from its clients",
        producer=ProducerConfig(),
        session_lasts=True,
        isolates_leaders=False,
    ),
    "not idempotent": Setting(
        says="no idempotence, acks=all, retries until acknowledged, five in flight",
        producer=ProducerConfig(idempotent=False),
    ),
    "no retries": Setting(
        says="no idempotence, acks=all, no retries, five in flight",
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "acks=0": Setting(
        says="no idempotence, acks=0: nothing is answered, and nothing retried",
        producer=ProducerConfig(acks=ACKS_NONE, idempotent=False),
    ),
    "acks=1": Setting(
        says="idempotence, acks=1, retries until acknowledged, five in flight",
        producer=ProducerConfig(acks=ACKS_LEADER),
    ),
    "acks=1, no retries": Setting(
        says="no idempotence, acks=1, no retries, five in flight",
        producer=ProducerConfig(acks=ACKS_LEADER, idempotent=False, retries=False),
    ),
}


class ReplicationMachine(ClusterMachine):
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
