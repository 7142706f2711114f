"""The Hypothesis rules of the suite `replication`: one producer, one consumer, and three brokers.

A run sends records, loses responses, crashes brokers, and cuts or heals links, in a random order. A
*focused* rule crashes the leader directly after an acknowledgement. At the end of a run, all faults
end, and the cluster must recover in bounded virtual time. Then a reader reads the whole log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.histories import Send
from model.vocabulary import BrokerId
from properties.claims.replication import ALWAYS, SOMETIMES, Published
from properties.suites.machines.driven import SIMULATED, TOPIC_PARTITION, OpensCluster, Power
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.replication.settings import SETTINGS, Setting
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, Reassign
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT


class ReplicationMachine(LeaderFaultsMachine):
    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    # a machine that elections inherit from, with settings of its own type
    SETTINGS: ClassVar[Mapping[str, Setting]] = SETTINGS  # pyright: ignore[reportIncompatibleVariableOverride]

    CLAIM_NEEDS: ClassVar[Mapping[str, Power]] = dict.fromkeys(
        ("committed_survives", "exactly_once_publish", "reads_are_committed", "offset_identifies"),
        Power.KILL,
    )
    NEEDS: ClassVar[Mapping[str, Power]] = {
        **LeaderFaultsMachine.NEEDS,
        "send_and_crash_leader": Power.KILL,
        "lose_responses_and_restart": Power.KILL,
        "reassign": Power.REASSIGN,
        "move_and_crash": Power.REASSIGN,
        "cancel_reassignment": Power.REASSIGN,
    }
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = {"reassigned": Power.REASSIGN}

    def __init__(
        self,
        setting: str = "idempotent",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
        opens: OpensCluster = SIMULATED,
    ) -> None:
        self._setting = chosen = self.SETTINGS[setting]
        super().__init__(
            setting,
            opens(
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
        self.cluster.run_for(
            30
        )  # until the producer has its id and the consumer its first end offset

    # ------------------------------------------------------------ clients

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Queues values at the producer; no virtual time passes.

        The requests arrive at the leader when a later rule lets time pass. `count` is the number of
        values.
        """
        self._send(count)

    @rule(count=st.integers(1, 3))
    def send_and_await(self, count: int) -> None:
        """Sends values and waits until all are acknowledged, at most 200 ms."""
        self._send(count)
        self.cluster.run_until(lambda: self.cluster.producer(self._producer).idle, 200)

    @rule(count=st.integers(1, 3))
    def send_and_lose_responses(self, count: int) -> None:
        """Sends values; the leader appends the values, but the producer gets no response.

        A producer with retries then sends the values again.
        """
        self.cluster.drop_responses(self._producer, count)
        self._send(count)
        self.cluster.run_for(10)

    @rule(count=st.integers(1, 2))
    def send_and_lose_requests(self, count: int) -> None:
        """Sends values; their requests never reach a broker.

        The links from the producer to the brokers are cut for 10 ms. Later retries can reach a
        broker.
        """
        self.cut_requests_of(self._producer)
        self._send(count)
        self.cluster.run_for(10)
        self.restore_requests_of(self._producer)

    @rule(count=st.integers(1, 2))
    def send_and_crash_leader(self, count: int) -> None:
        """Sends values, and crashes the leader when the last one is acknowledged."""
        self.send_and_await(count)
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: self.restarts_brokers())
    @rule(count=st.integers(1, 3))
    def lose_responses_and_restart(self, count: int) -> None:
        """Sends values and loses the responses, then crashes all brokers and starts them again."""
        self.send_and_lose_responses(count)
        for broker in self.cluster.broker_ids:
            self.fail(Crash(broker))
        self.restart_all()

    def restarts_brokers(self) -> bool:
        return self._setting.restarts_brokers

    # ------------------------------------------------------------ reassignments

    @precondition(lambda self: self.reassigns())
    @rule(broker=st.integers(0, 2))
    def reassign(self, broker: int) -> None:
        """Adds a replica on the broker, or removes the broker's replica.

        The broker's replica is removed only if the broker has a replica and is not the only broker
        with a replica.
        """
        self._reassign(self.broker(broker))

    @precondition(lambda self: self.reassigns())
    @rule(broker=st.integers(0, 2), count=st.integers(1, 2))
    def move_and_crash(self, broker: int, count: int) -> None:
        """Sends values, adds or removes a broker's replica, and crashes the leader 20 ms later."""
        self.send_and_await(count)
        self._reassign(self.broker(broker))
        self.cluster.run_for(20)
        self.fail(Crash(self.cluster.leader()))

    @precondition(lambda self: self.reassigns())
    @rule()
    def cancel_reassignment(self) -> None:
        """Cancels the reassignment in progress; changes nothing without one."""
        self.cluster.apply(Reassign(TOPIC_PARTITION, None))

    def reassigns(self) -> bool:
        return self._setting.reassigns

    def _reassign(self, broker: BrokerId) -> None:
        assert isinstance(self.cluster, Cluster), "replicas of this cluster do not move"
        replicas = self.cluster.replicas()
        others = tuple(replica for replica in replicas if replica != broker)
        if others:
            target = others if broker in replicas else (broker, *others)
            self.cluster.apply(Reassign(TOPIC_PARTITION, target))

    # ------------------------------------------------------------ the end

    def end(self) -> object:
        return self.publish()

    def stuck(self) -> str | None:
        """Returns the reason why the producer session ended, if the setting does not permit its
        end. Otherwise, returns None.
        """
        over = self.cluster.producer(self._producer).over
        if not self._setting.session_lasts or over is None:
            return None
        return f"the producer session ended with {over.name}"

    def publish(self) -> Published:
        """Lets the cluster recover, and reads the whole log. Returns the log, the history of the
        clients, and their producer sessions.
        """
        self.cluster.recover()
        read_at_ms = self.cluster.now_ms
        log = self.cluster.read_all()
        history = self.cluster.history()
        sessions = {
            operation.process: operation.process // PROCESSES_PER_CLIENT
            for operation in history
            if any(isinstance(did, Send) for did in operation.did)
        }
        return Published(history=history, log=log, sessions=sessions, read_at_ms=read_at_ms)

    def _send(self, count: int) -> None:
        values = [f"v{self._sent + number}" for number in range(count)]
        self._sent += count
        self.cluster.send(self._producer, *values)
