"""The clients of the suite `transactions`: producers with one transactional id, and readers.

An *instance* is one of these producers. It sends records to two topic partitions, and adds group
offsets to its transactions. It commits a transaction, aborts it, or leaves it open. An instance may
be killed, or the next instance may replace it. At the end of a run, all faults end, and every
transaction must end. Then one more transaction is committed, and all records are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.histories import Isolation, Poll
from model.vocabulary import Offset, TopicPartition
from properties.claims.transactions import ALWAYS, SOMETIMES, Ends, Entry, Transacted
from properties.suites.machines.driven import SIMULATED, OpensCluster
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.transactions.instances import (
    GROUP,
    Action,
    Instance,
    awaits_equal_ends,
    commits_once,
    fetches_offset,
    reads_to_end,
    reads_until_killed,
    sends_without_transaction,
)
from properties.suites.transactions.settings import SETTINGS
from reference_impl.log import transaction_marker
from reference_impl.log.record_batch import decode, header
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.cluster import QUICK, TOPIC_PARTITION
from reference_impl.simulation.programs import ProgramFactory

ID: Final = "t"
TIMEOUT_MS: Final = 500  # transaction.timeout.ms
CLOSED_WITHIN_MS: Final = 2_000  # after the end of all faults
# Followers fetch half as often as in other suites, so a CPU second covers more events.
CALM_FOLLOWERS: Final = replace(
    QUICK, replica_fetch_wait_ms=200, replica_fetch_timeout_ms=300, replica_lag_ms=400
)


class OneIdMachine(LeaderFaultsMachine):
    """A cluster, and producers with the same transactional id. Each producer replaces the
    previous producer.
    """

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **LeaderFaultsMachine.SIMPLER,
        "stable": (0, 1),
        "output": (0, 1),
    }
    TEARDOWN = (
        "ends all faults; a new application commits one more transaction, with a record in each "
        "output, and the outputs are read and judged"
    )

    def __init__(
        self,
        setting: str = "V2",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
        opens: OpensCluster = SIMULATED,
    ) -> None:
        self.setting = SETTINGS[setting]
        super().__init__(
            setting,
            opens(
                min_insync_replicas=2,
                broker_settings=CALM_FOLLOWERS,
                bugs=bugs,
                verifies_transactions=self.setting.verifies,
            ),
            isolates_leaders=self.setting.isolates_leaders,
            bugs=bugs,
            judge=judge,
            tally=tally,
        )
        self.cluster.create_topic(
            CreateTopic(
                topic="output", topic_partitions=2, replication_factor=3, min_insync_replicas=2
            )
        )
        replicas = self.setting.replicas
        for topic in (TRANSACTION_STATE, CONSUMER_OFFSETS):
            self.cluster.create_topic(
                CreateTopic(
                    topic=topic,
                    replication_factor=replicas,
                    min_insync_replicas=min(2, replicas),
                )
            )
        # The coordinator's broker does not lead the first one: their requests can be late.
        self._outputs = self.cluster.topic_partitions("output")[::-1]
        self._attempts = 0
        self._offset = 0  # the last committed one
        self._clients: list[NodeId] = []
        for place in self._outputs:
            self._run(reads_until_killed(place, self.setting.isolation))
        self._instances: list[tuple[Instance, NodeId]] = []
        self._stuck: str | None = None
        self.replace()

    # ------------------------------------------------------------ the newest instance

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Sends values in the open transaction or a new one, and waits for acknowledgements.

        The newest producer sends `count` records. If this producer has ended with a fatal error, a
        new one is started first.
        """
        instance = self._newest()
        self._run_actions(instance, *self._sends(instance, count))

    @rule(count=st.integers(1, 2))
    def send_without_waiting(self, count: int) -> None:
        """Adds records to the queue of the newest producer. No virtual time passes.

        The producer sends the records when a later rule lets time pass. `count` is the number of
        records.
        """
        instance = self._newest()
        if not instance.is_over:
            instance.todo.extend(self._sends(instance, count))
            instance.is_busy = True

    @rule()
    def send_offset(self) -> None:
        """Adds the next group offset to the newest instance's open transaction.

        If the instance has no open transaction, it first begins one.
        """
        instance = self._newest()
        begins = self._begins(instance)
        self._offset += 1
        offsets = {TOPIC_PARTITION: Offset(self._offset)}
        self._run_actions(instance, *begins, lambda producer: producer.send_offsets(GROUP, offsets))

    @rule()
    def commit(self) -> None:
        """Commits the open transaction, if there is one."""
        self._end(self.newest, self.newest.commit)

    @rule()
    def abort(self) -> None:
        """Aborts the open transaction, if there is one."""
        self._end(self.newest, self.newest.abort)

    @rule(count=st.integers(1, 3))
    def lose_responses(self, count: int) -> None:
        """Drops the next `count` responses to the producer of the newest instance."""
        self.cluster.drop_responses(self._instances[-1][1], count)

    @rule()
    def replace(self) -> None:
        """Starts a new producer with the transactional id; the old one does not notice.

        The coordinator fences the old producer, which learns this only from the response to its
        next request.
        """
        instance = Instance(
            transactional_id=ID, version=self.setting.version, timeout_ms=TIMEOUT_MS
        )
        self._instances.append((instance, self._run(instance.program)))
        self.cluster.run_until(lambda: not instance.is_busy, 400)

    @precondition(lambda self: not self.newest.is_over)
    @rule()
    def kill(self) -> None:
        """Kills the process of the newest producer."""
        instance, client = self._instances[-1]
        self.cluster.kill(client)
        instance.ends()

    # ------------------------------------------------------------ others

    @rule(count=st.integers(1, 2))
    def zombie_commits(self, count: int) -> None:
        """A zombie sends `count` records in a transaction, and commits it.

        A zombie is a producer that another producer has replaced. If no zombie runs, the newest
        producer is first replaced.
        """
        if self._zombie() is None:
            self._newest()
            self.replace()
        zombie = self._zombie()
        if zombie is not None:
            self._run_actions(zombie, *self._sends(zombie, count))
            self._end(zombie, zombie.commit)

    @rule(output=st.integers(0, 1))
    def send_plainly(self, output: int) -> None:
        """Sends a record outside a transaction.

        `output` is the number of the output partition.
        """
        self._attempts += 1
        self._await(
            sends_without_transaction(self._outputs[output], f"plain:{self._attempts}"), 100
        )

    @rule(stable=st.integers(0, 1))
    def ask_offset(self, stable: int) -> None:
        """Fetches the group offset; with stable=1, the fetch waits for open transactions.

        With stable=0, the fetch returns the committed offset at once, even if an open transaction
        may change it.
        """
        isolation: Isolation = "read_committed" if stable else "read_uncommitted"
        self._await(fetches_offset(TOPIC_PARTITION, isolation), 100)

    # ------------------------------------------------------------ the end

    def end(self) -> Transacted:
        for client in self._clients:
            self.cluster.kill(client)
        self.cluster.recover()
        ends: dict[str, Ends] = {}
        self._await(awaits_equal_ends(self._outputs, ends), CLOSED_WITHIN_MS)
        works = commits_once(self.newest, self._outputs)
        if not self._await(works, CLOSED_WITHIN_MS):
            self._stuck = f"no producer could commit as {ID} within {CLOSED_WITHIN_MS} ms"
        read: dict[str, tuple[Poll, ...]] = {}
        for looks in (
            reads_to_end(self._outputs, self.setting.isolation, read),
            fetches_offset(TOPIC_PARTITION, "read_committed"),
        ):
            self._await(looks, CLOSED_WITHIN_MS)
        return Transacted(
            history=self.cluster.history(),
            isolation=self.setting.isolation,
            read=read,
            logs={str(place): self._log(place) for place in self._outputs},
            ends=ends,
        )

    def stuck(self) -> str | None:
        """Returns the reason why no transaction can be committed after the end of all faults, or
        None if a transaction can be committed.
        """
        return self._stuck

    # ------------------------------------------------------------ doing it

    @property
    def newest(self) -> Instance:
        return self._instances[-1][0]

    def _newest(self) -> Instance:
        if self.newest.is_over:
            self.replace()
        return self.newest

    def _zombie(self) -> Instance | None:
        before = self._instances[-2][0] if len(self._instances) > 1 else None
        return None if before is None or before.is_over else before

    def _sends(self, instance: Instance, count: int) -> list[Action]:
        begins = self._begins(instance)
        actions: list[Action] = []
        for _ in range(count):
            place = self._outputs[instance.sent % len(self._outputs)]
            value = f"{instance.work}.{instance.sent}:{instance.attempt}"
            instance.sent += 1
            actions.append(_sending(place, value))
        return [*begins, *actions]

    def _begins(self, instance: Instance) -> list[Action]:
        if instance.in_transaction:
            return []
        self._attempts += 1
        if instance.outcomes[-1:] != ["fail"]:
            instance.work = f"work {self._attempts}"
        instance.attempt, instance.sent, instance.in_transaction = self._attempts, 0, True
        return [instance.begin]

    def _run_actions(self, instance: Instance, *actions: Action) -> None:
        if not instance.is_over:
            instance.todo.extend(actions)
            instance.is_busy = True
            self.cluster.run_until(lambda: not instance.is_busy, 400)

    def _end(self, instance: Instance, action: Action) -> None:
        if instance.in_transaction:
            instance.in_transaction = False
            self._run_actions(instance, action)

    def _run(self, program: ProgramFactory) -> NodeId:
        client = self.cluster.run_program(program)
        self._clients.append(client)
        return client

    def _await(self, program: ProgramFactory, within_ms: int) -> bool:
        client = self.cluster.run_program(program)
        is_over = self.cluster.run_until(lambda: self.cluster.is_over(client), within_ms)
        if not is_over:
            self.cluster.kill(client)
        return is_over

    def _log(self, place: TopicPartition) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for batch in self.cluster.batches(place):
            head = header(batch)
            if head.is_control:
                marker = transaction_marker.read(batch).result.value
                found.append(Entry(head.base_offset, head.producer_id, marker=marker))
            else:
                found += (
                    Entry(offset, head.producer_id, (record.value or b"").decode())
                    for offset, record in decode(batch)
                )
        return tuple(found)


def _sending(place: TopicPartition, value: str) -> Action:
    return lambda producer: producer.send(place, value)
