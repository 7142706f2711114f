"""The suite `replication`: one producer session, one consumer and a cluster of three brokers,
driven by Hypothesis.

The rules send, lose answers, crash, isolate and heal; some are *focused*: they go to the moments
where replication is delicate, right behind an acknowledgement and right at an election. A run ends
with the end of all faults: the cluster has to recover in bounded virtual time, and the log is read
from its beginning. Then the claims are judged on what the clients observed.

A `Setting` says under which condition a run stands. Inside the condition of a claim no run may
break it; outside some run does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from model.histories import Send
from model.vocabulary import BrokerId
from properties.replication_claims import ALWAYS, SOMETIMES, Published
from properties.suites.searching import Shown, Tally
from reference_impl.bugs import NO_BUGS, Bugs
from reference_impl.messages import ACKS_LEADER, NO_BROKER, NodeId
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT, ProducerConfig
from reference_impl.simulation.world import NoProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The producer's and the topic's configuration: a condition of claims, or its opposite."""

    says: str
    producer: ProducerConfig
    min_insync_replicas: int = 2
    session_lasts: bool = False  # no error may end the session
    isolates_leaders: bool = True  # a leader may lose the controller and keep its clients


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
    "acks=1": Setting(
        says="idempotence, acks=1, retries until acknowledged, five in flight",
        producer=ProducerConfig(acks=ACKS_LEADER),
    ),
    "acks=1, no retries": Setting(
        says="no idempotence, acks=1, no retries, five in flight",
        producer=ProducerConfig(acks=ACKS_LEADER, idempotent=False, retries=False),
    ),
}

PROGRESS: Final = "progress"  # after all faults the cluster recovers in bounded virtual time


def judged(name: str, published: Published) -> str | None:
    """How a run shows what the name says: the breach of a claim, or a goal; None: it does not."""
    if name in ALWAYS:
        return next((breach.why for breach in ALWAYS[name](published)), None)
    claim, _, goal = name.partition(": ")
    return goal if SOMETIMES[claim][goal](published) else None


_PAUSES_MS: Final = (5, 40, 150, 400, 900)
_BROKERS: Final = (0, 1, 2)

# The values of the rules' arguments, the simplest first.
SIMPLER: Final = {
    "count": (1, 2, 3),
    "pause_ms": _PAUSES_MS,
    "broker": _BROKERS,
    "sender": _BROKERS,
    "receiver": _BROKERS,
}


class ReplicationMachine(RuleBasedStateMachine):
    """A cluster under faults; its end is judged by the claims and goals that `judge` names."""

    def __init__(
        self,
        setting: str = "idempotent",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] = tuple(ALWAYS),
        tally: Tally | None = None,
    ) -> None:
        super().__init__()
        self._judge = judge
        self._tally = tally or Tally()
        self._sent = 0
        self.published: Published | None = None
        self._setting = SETTINGS[setting]
        self._cluster = Cluster(min_insync_replicas=self._setting.min_insync_replicas, bugs=bugs)
        self._producer = self._cluster.add_producer(self._setting.producer)
        self._cluster.add_consumer(asks_end_every=3)
        self._cluster.run_for(30)  # the producer has its id, the consumer its first end offset

    # ------------------------------------------------------------ clients

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Some values are given to the producer; no time passes."""
        self._send(count)

    @rule(count=st.integers(1, 3))
    def send_and_await(self, count: int) -> None:
        """Some values are sent; time passes until all are acknowledged, or 200 ms."""
        self._send(count)
        self._cluster.run_until(lambda: self._cluster.producer(self._producer).idle, 200)

    @rule(count=st.integers(1, 3))
    def send_and_lose_responses(self, count: int) -> None:
        """Some values are sent and applied; the answers are lost."""
        self._cluster.drop_responses(self._producer, count)
        self._send(count)
        self._cluster.run_for(10)

    @rule(count=st.integers(1, 2))
    def send_and_lose_requests(self, count: int) -> None:
        """Some values are sent and never arrive."""
        for broker in self._cluster.broker_ids:
            self._cluster.split_one_way(self._producer, NodeId(broker))
        self._send(count)
        self._cluster.run_for(10)
        for broker in self._cluster.broker_ids:
            self._cluster.rejoin_one_way(self._producer, NodeId(broker))

    # ------------------------------------------------------------ time

    @rule(pause_ms=st.sampled_from(_PAUSES_MS))
    def pass_time(self, pause_ms: int) -> None:
        """Nothing happens but what is on its way."""
        self._cluster.run_for(pause_ms)

    @precondition(lambda self: not self._leads_well())
    @rule()
    def await_election(self) -> None:
        """Time passes up to the moment at which another leader is elected."""
        before = self._cluster.leader_epoch()
        self._cluster.run_until(
            lambda: self._cluster.leader_epoch() > before and self._cluster.leader() != NO_BROKER,
            600,
        )

    # ------------------------------------------------------------ faults

    @precondition(lambda self: self._leader_is_up())
    @rule()
    def crash_leader(self) -> None:
        """The leader's process dies."""
        self._cluster.crash(self._cluster.leader())

    @rule(count=st.integers(1, 2))
    def send_and_crash_leader(self, count: int) -> None:
        """The leader's process dies at the moment at which the last value is acknowledged."""
        self.send_and_await(count)
        self._cluster.crash(self._cluster.leader())

    @precondition(lambda self: not self._leads_well())
    @rule()
    def crash_leader_at_election(self) -> None:
        """The next leader's process dies at the moment at which it is elected."""
        self.await_election()
        self._cluster.crash(self._cluster.leader())

    @precondition(lambda self: not self._some_down())
    @rule(broker=st.integers(0, 2))
    def crash(self, broker: int) -> None:
        """A broker's process dies."""
        self._cluster.crash(self._broker(broker))

    @precondition(lambda self: self._some_down())
    @rule()
    def restart_all(self) -> None:
        """All brokers that are down start again."""
        for broker in self._cluster.broker_ids:
            self._cluster.restart(broker)

    @precondition(lambda self: self._some_down() or self._cluster.is_split())
    @rule()
    def calm_down(self) -> None:
        """Splits end, brokers that are down start again, and time passes until all are in sync."""
        self._cluster.heal()
        self.restart_all()
        self._cluster.run_until(self._cluster.all_in_sync, 1_500)

    @precondition(lambda self: self._setting.isolates_leaders and self._leader_is_up())
    @rule()
    def isolate_leader(self) -> None:
        """The leader loses the other brokers and the controller, and keeps its clients."""
        self._cluster.isolate(self._cluster.leader())

    @rule(sender=st.integers(0, 2), receiver=st.integers(0, 2))
    def split_one_way(self, sender: int, receiver: int) -> None:
        """What one broker sends no longer reaches another."""
        if sender != receiver:
            self._cluster.split_one_way(
                NodeId(self._broker(sender)), NodeId(self._broker(receiver))
            )

    @rule()
    def heal(self) -> None:
        """Every split ends."""
        self._cluster.heal()

    # ------------------------------------------------------------ the end

    def teardown(self) -> None:
        """The faults end, the cluster recovers, and the run is judged; Shown."""
        try:
            self._cluster.recover()
            self.published = self._publish(self._cluster.read_all())
        except NoProgress as stuck:
            raise Shown(PROGRESS, str(stuck)) from stuck
        finally:
            self._tally.add(self._cluster.steps)
        for name in self._judge:
            why = judged(name, self.published)
            if why is not None:
                raise Shown(name, why)
        over = self._cluster.producer(self._producer).over
        if self._setting.session_lasts and over is not None:
            raise Shown(PROGRESS, f"the producer session ended with {over.name}")

    def _publish(self, log: tuple[tuple[int, str], ...]) -> Published:
        history = self._cluster.history()
        sessions = {
            operation.process: operation.process // PROCESSES_PER_CLIENT
            for operation in history
            if any(isinstance(did, Send) for did in operation.did)
        }
        return Published(history=history, log=log, sessions=sessions)

    def _send(self, count: int) -> None:
        values = [f"v{self._sent + number}" for number in range(count)]
        self._sent += count
        self._cluster.send(self._producer, *values)

    def _broker(self, number: int) -> BrokerId:
        return self._cluster.broker_ids[number]

    def _leader_is_up(self) -> bool:
        leader = self._cluster.leader()
        return leader != NO_BROKER and self._cluster.is_up(leader)

    def _leads_well(self) -> bool:
        return self._leader_is_up() and not self._cluster.is_split()

    def _some_down(self) -> bool:
        return not all(map(self._cluster.is_up, self._cluster.broker_ids))
