"""The suite `transactions`: instances of one transactional id, readers, and a cluster of three
brokers, driven by Hypothesis.

An instance sends to two topic partitions and to the offsets of a group, and ends what it began, or
does not; it is replaced, dies, is too slow. Requests and answers are lost, or come so late that
others overtake them. Brokers die, those that coordinate at delicate moments: *focused* rules calm
the cluster down and go straight to such a moment. A run ends with the end of all faults: time
passes until every transaction must have ended, one more is committed, and everything is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from model.histories import Isolation, Poll
from model.vocabulary import BrokerId, Offset, TopicPartition
from properties.claims.transactions import ALWAYS, SOMETIMES, Ends, Entry, Transacted
from properties.suites.machines.judged import Tally
from properties.suites.machines.leader_faults import LeaderFaultsMachine
from properties.suites.transactions.instances import (
    GROUP,
    SEND_ATTEMPTS,
    Deed,
    Instance,
    asks_for_offset,
    compares_ends,
    reads_for_ever,
    reads_once,
    sends_plainly,
    works_once,
)
from properties.suites.transactions.settings import SETTINGS
from reference_impl.log import transaction_marker
from reference_impl.log.record_batch import decode
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.simulation.cluster import QUICK, TOPIC_PARTITION, Cluster
from reference_impl.simulation.faults import Hold, Lose, On
from reference_impl.simulation.programs import ProgramFactory

ID: Final = "t"
TIMEOUT_MS: Final = 500  # of a transaction
CLOSED_WITHIN_MS: Final = 2_000  # after the end of all faults
# Followers ask half as often as elsewhere, so that more can happen in a second of CPU.
CALM_FOLLOWERS: Final = replace(
    QUICK, replica_fetch_wait_ms=200, replica_fetch_timeout_ms=300, replica_lag_ms=400
)


class TransactionsMachine(LeaderFaultsMachine):
    """A cluster under faults, and the instances of one transactional id."""

    ALWAYS = ALWAYS
    SOMETIMES = SOMETIMES
    SETTINGS = SETTINGS
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
        **LeaderFaultsMachine.SIMPLER,
        "commits": (1, 0),
        "stable": (0, 1),
        "output": (0, 1),
    }

    def __init__(
        self,
        setting: str = "V2",
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.setting = SETTINGS[setting]
        super().__init__(
            setting,
            Cluster(
                min_insync_replicas=2,
                timeouts=CALM_FOLLOWERS,
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
        for topic, replicas in ((TRANSACTION_STATE, self.setting.replicas), (CONSUMER_OFFSETS, 3)):
            self.cluster.create_topic(
                CreateTopic(
                    topic=topic,
                    replication_factor=replicas,
                    min_insync_replicas=min(2, replicas),
                )
            )
        # The first is led by another broker than the coordinator's: what they say can be late.
        self._outputs = self.cluster.topic_partitions("output")[::-1]
        self._works = 0  # begun
        self._attempts = 0
        self._offset = 0  # that was committed last
        self._clients: list[NodeId] = []
        for place in self._outputs:
            self._run(reads_for_ever(place, self.setting.isolation))
        self._instances: list[tuple[Instance, NodeId]] = []
        self._stuck: str | None = None
        self.replace()

    # ------------------------------------------------------------ the newest instance

    @rule(count=st.integers(1, 3))
    def send(self, count: int) -> None:
        """Some values, in the open transaction or in a new one, until they are acknowledged."""
        instance = self._newest()
        self._tell(instance, *self._sends(instance, count))

    @rule(count=st.integers(1, 2))
    def send_without_waiting(self, count: int) -> None:
        """Some values are given to the instance; no time passes."""
        instance = self._newest()
        if not instance.is_over:
            instance.todo.extend(self._sends(instance, count))
            instance.is_busy = True

    @rule()
    def send_offset(self) -> None:
        """The next offset of the group, in the open transaction or in a new one."""
        instance = self._newest()
        begins = self._begins(instance)
        self._offset += 1
        offsets = {TOPIC_PARTITION: Offset(self._offset)}
        self._tell(instance, *begins, lambda producer: producer.send_offsets(GROUP, offsets))

    @rule()
    def commit(self) -> None:
        """The open transaction is committed, if there is one."""
        self._end(self.newest, self.newest.commit)

    @rule()
    def abort(self) -> None:
        """The open transaction is aborted, if there is one."""
        self._end(self.newest, self.newest.abort)

    @rule(count=st.integers(1, 3))
    def lose_responses(self, count: int) -> None:
        """The next answers to the newest instance are lost."""
        self.cluster.drop_responses(self._instances[-1][1], count)

    @rule()
    def replace(self) -> None:
        """Another instance is made, and the one before does not know."""
        instance = Instance(
            transactional_id=ID, version=self.setting.version, timeout_ms=TIMEOUT_MS
        )
        self._instances.append((instance, self._run(instance.conduct)))
        self.cluster.run_until(lambda: not instance.is_busy, 400)

    @precondition(lambda self: not self.newest.is_over)
    @rule()
    def kill(self) -> None:
        """The newest instance dies where it stands."""
        instance, client = self._instances[-1]
        self.cluster.kill(client)
        instance.ends()

    # ------------------------------------------------------------ others

    @rule(count=st.integers(1, 2))
    def zombie_commits(self, count: int) -> None:
        """An instance that was replaced, by now at the latest, goes on: it sends, and commits."""
        if self._zombie() is None:
            self._newest()
            self.replace()
        zombie = self._zombie()
        if zombie is not None:
            self._tell(zombie, *self._sends(zombie, count))
            self._end(zombie, zombie.commit)

    @rule(output=st.integers(0, 1))
    def send_plainly(self, output: int) -> None:
        """Somebody sends a record outside of any transaction."""
        self._attempts += 1
        self._await(sends_plainly(self._outputs[output], f"plain:{self._attempts}"), 100)

    @rule(stable=st.integers(0, 1))
    def ask_offset(self, stable: int) -> None:
        """Somebody asks how far the group is, and waits for open transactions or does not."""
        isolation: Isolation = "read_committed" if stable else "read_uncommitted"
        self._await(asks_for_offset(TOPIC_PARTITION, isolation), 100)

    # ------------------------------------------------------------ faults

    @precondition(lambda self: "records" in self.setting.late)
    @rule()
    def send_late(self) -> None:
        """A value is given up, its transaction is aborted, and it arrives behind the marker."""
        self.calm_down()
        self._delay(_on_its_way("Produce", count=SEND_ATTEMPTS), 400)
        self.send(1)
        self.abort()
        self.cluster.run_for(200)

    @precondition(lambda self: "verifications" in self.setting.late)
    @rule()
    def verify_late(self) -> None:
        """The same, and it waits at the leader, which hears late that it belongs there."""
        self.calm_down()
        for place in self._outputs:
            leader = NodeId(self.cluster.leader(place))
            self._delay(On(api="AddPartitionsToTxn", source=leader), 270)  # the answer
        self.send(1)
        self.abort()
        self.cluster.run_for(200)

    @precondition(lambda self: "ends" in self.setting.late)
    @rule(commits=st.integers(0, 1))
    def end_late(self, commits: int) -> None:
        """The end is asked for again; what asked first arrives in the next transaction."""
        self.calm_down()
        self.send(1)
        self._delay(_on_its_way("EndTxn", topic=None), 300)
        self._end(self.newest, self.newest.commit if commits else self.newest.abort)
        self.send(1)
        self.cluster.run_for(200)

    @precondition(lambda self: "markers" in self.setting.late)
    @rule()
    def mark_late(self) -> None:
        """Markers are written again, and the first of them arrive in the next transaction."""
        self.calm_down()
        self.send(2)
        self._delay(_on_its_way("WriteTxnMarker"), 550)
        self.commit()
        self.cluster.run_for(370)
        self.send(2)
        self.cluster.run_for(200)

    @rule(count=st.integers(1, 2))
    def lose_marker_answers(self, count: int) -> None:
        """Markers are written, and the coordinator is not told."""
        self.cluster.apply(On(api="WriteTxnMarker", count=count, does=Lose()))

    @precondition(lambda self: self.newest.in_transaction)
    @rule()
    def commit_and_crash_coordinator(self) -> None:
        """The coordinator dies at the moment at which the commit is acknowledged."""
        self.commit()
        self.cluster.crash(self._coordinator())

    @precondition(lambda self: not self.some_down() and self.cluster.all_in_sync())
    @rule()
    def lose_coordinator(self) -> None:
        """The coordinator's broker dies, and comes back with an empty disk."""
        broker = self._coordinator()
        self.cluster.replace_disk(broker)
        if broker != NO_BROKER:
            self.cluster.restart(broker)

    @rule()
    def commit_and_crash_leader_of_marker(self) -> None:
        """A leader dies when nobody but readers has seen the marker in its log."""
        self.calm_down()
        place = self._outputs[0]
        leader = self.cluster.leader(place)
        self.send(1)
        for broker in self.cluster.broker_ids:
            fetches = _on_its_way("Fetch", count=2)
            of_follower = replace(fetches, partition=place.index, source=NodeId(broker))
            self._delay(replace(of_follower, target=NodeId(leader)), 1_000)
        self.cluster.run_for(210)  # what the followers had asked before is answered
        self.commit()
        self.cluster.run_for(80)
        self.cluster.crash(leader)
        self._delay(_on_its_way("WriteTxnMarker", count=2), 600)
        self.cluster.run_until(lambda: self._is_led_by_another(place, leader), 600)
        self.cluster.run_for(400)

    # ------------------------------------------------------------ the end

    def end(self) -> Transacted:
        """The cluster recovers, works once more, and comes to rest; everything is read."""
        for client in self._clients:
            self.cluster.kill(client)
        self.cluster.recover()
        ends: dict[str, Ends] = {}
        self._await(compares_ends(self._outputs, ends), CLOSED_WITHIN_MS)
        works = works_once(self.newest, self._outputs)
        if not self._await(works, CLOSED_WITHIN_MS):
            self._stuck = f"nobody could commit as {ID} within {CLOSED_WITHIN_MS} ms"
        read: dict[str, tuple[Poll, ...]] = {}
        for looks in (
            reads_once(self._outputs, self.setting.isolation, read),
            asks_for_offset(TOPIC_PARTITION, "read_committed"),
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
        """After all faults transactions can't be committed any more."""
        return self._stuck

    # ------------------------------------------------------------ doing it

    @property
    def newest(self) -> Instance:
        """The instance that was made last."""
        return self._instances[-1][0]

    def _newest(self) -> Instance:
        """The newest instance; where that is over another is made."""
        if self.newest.is_over:
            self.replace()
        return self.newest

    def _zombie(self) -> Instance | None:
        """The last instance before the newest one, if it goes on."""
        before = self._instances[-2][0] if len(self._instances) > 1 else None
        return None if before is None or before.is_over else before

    def _sends(self, instance: Instance, count: int) -> list[Deed]:
        begins = self._begins(instance)
        deeds: list[Deed] = []
        for _ in range(count):
            place = self._outputs[instance.sent % len(self._outputs)]
            value = f"{instance.work}.{instance.sent}:{instance.attempt}"
            instance.sent += 1
            deeds.append(_sending(place, value))
        return [*begins, *deeds]

    def _begins(self, instance: Instance) -> list[Deed]:
        """Unless one is open a transaction begins; after an abort the same work is done again."""
        if instance.in_transaction:
            return []
        self._attempts += 1
        if instance.outcomes[-1:] != ["fail"]:
            instance.work = f"work {self._attempts}"
        instance.attempt, instance.sent, instance.in_transaction = self._attempts, 0, True
        return [instance.begin]

    def _tell(self, instance: Instance, *deeds: Deed) -> None:
        """The instance does these, if it is not over, in at most 400 ms."""
        if not instance.is_over:
            instance.todo.extend(deeds)
            instance.is_busy = True
            self.cluster.run_until(lambda: not instance.is_busy, 400)

    def _end(self, instance: Instance, deed: Deed) -> None:
        if instance.in_transaction:
            instance.in_transaction = False
            self._tell(instance, deed)

    def _run(self, conduct: ProgramFactory) -> NodeId:
        client = self.cluster.run_program(conduct)
        self._clients.append(client)
        return client

    def _await(self, conduct: ProgramFactory, within_ms: int) -> bool:
        """Whether the application came to its last line in that time; else it dies."""
        client = self.cluster.run_program(conduct)
        is_over = self.cluster.run_until(lambda: self.cluster.is_over(client), within_ms)
        if not is_over:
            self.cluster.kill(client)
        return is_over

    def _delay(self, requests: On, late_ms: int) -> None:
        self.cluster.apply(replace(requests, does=Hold(late_ms)))

    def _is_led_by_another(self, place: TopicPartition, leader: BrokerId) -> bool:
        return self.cluster.leader(place) not in {leader, NO_BROKER}

    def _coordinator(self) -> BrokerId:
        return self.cluster.leader(self.cluster.topic_partitions(TRANSACTION_STATE)[0])

    def _log(self, place: TopicPartition) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for batch in self.cluster.log(self.cluster.leader(place), place).batches():
            head = batch.header
            if head.is_control:
                marker = transaction_marker.read(batch.data).result.value
                found.append(Entry(head.base_offset, head.producer_id, marker=marker))
            else:
                found += (
                    Entry(offset, head.producer_id, (record.value or b"").decode())
                    for offset, record in decode(batch.data)
                )
        return tuple(found)


def _sending(place: TopicPartition, value: str) -> Deed:
    return lambda producer: producer.send(place, value)


def _on_its_way(api: str, *, topic: str | None = "output", count: int = 1) -> On:
    return On(api=api, topic=topic, count=count, moment="before")
