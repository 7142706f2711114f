"""The running cluster of a reproduction (a list of steps on real brokers), with its proxies and
clients.

Every send and every read becomes an operation of a history, which `urteil analyze` can judge. A
metadata request goes to one chosen broker, because brokers that are cut off from the controller can
have different leaders in their metadata.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException

from checkers.client_config import Acks, ClientConfig
from checkers.histories.io.faults import Step as Fault
from checkers.record import outcomes
from checkers.record.clients import Clients
from checkers.record.processes import Shared, Topic
from checkers.record.reading import read_to_the_end
from checkers.record.sending import SharedProducer
from checkers.reproduce.assigned_pipeline import AssignedPipeline
from checkers.reproduce.group_member import GroupMember
from checkers.reproduce.java_consumer import JavaConsumer
from checkers.reproduce.java_producer import JavaProducer, JavaSends
from checkers.reproduce.partition_state import PartitionState, partition_state
from checkers.reproduce.pipeline import Pipeline
from checkers.reproduce.share_member import ShareMember
from checkers.reproduce.transactional_client import TransactionalClient
from checkers.reproduce.transactions import TRANSACTIONAL_ID, RawTransactions
from checkers.systems.administration import Administration
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.proxies.active_rules import ActiveRule
from checkers.systems.proxies.proxies import Proxies
from checkers.systems.proxies.rules import Rule
from checkers.systems.requests import call
from checkers.systems.system import Ability
from model.histories import Isolation, Outcome, Send
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.wire.messages.apis import Api

TOPIC: Final = "t"
SENT_WITHIN_S: Final = 60.0
ONCE_WITHIN_MS: Final = 1_500
HOUR_MS: Final = 3_600_000
PATIENT: Final = {"message.timeout.ms": "50000"}  # an election may take 15 s


@dataclass(slots=True)
class Stage:
    """A running cluster with one topic, and the clients of a reproduction.

    All steps use one partition, the partition with the highest index of the topic.
    """

    cluster: Cluster
    shared: Shared
    topic: Topic
    faults: list[Fault] = field(default_factory=list[Fault])
    down: set[int] = field(default_factory=set[int])
    _sending: list[threading.Thread] = field(default_factory=list[threading.Thread])
    acknowledged: list[str] = field(default_factory=list[str])
    offsets: dict[str, int] = field(default_factory=dict[str, int])  # value -> as acknowledged
    refused: dict[str, str] = field(default_factory=dict[str, str])  # value -> the error
    java: JavaProducer | None = None
    java_consumers: dict[str, JavaConsumer] = field(default_factory=dict[str, JavaConsumer])
    _java: list[JavaSends] = field(default_factory=list[JavaSends])
    _client: TransactionalClient | None = None
    group_members: dict[str, GroupMember] = field(default_factory=dict[str, GroupMember])
    assigned_pipelines: dict[str, AssignedPipeline] = field(
        default_factory=dict[str, AssignedPipeline]
    )
    _share_members: dict[str, ShareMember] = field(default_factory=dict[str, ShareMember])
    pipelines: list[Pipeline] = field(default_factory=list[Pipeline])
    rules: dict[str, ActiveRule] = field(default_factory=dict[str, ActiveRule])
    unread: tuple[str, ...] = ()
    noted: str = ""  # stored by the newest action that stores a text for its check
    _raw: RawTransactions | None = None
    _transaction: int = -1  # the operation of the open transaction
    _in_transaction: tuple[Send, ...] = ()

    def close(self) -> None:
        for thread in self._sending:
            thread.join()
        clients = (
            self.java,
            *self.java_consumers.values(),
            self._client,
            *self._share_members.values(),
            *self.group_members.values(),
            *self.assigned_pipelines.values(),
            *self.pipelines,
        )
        with ExitStack() as closing:  # closes every client, also if one of them fails
            for client in clients:
                if client is not None:
                    closing.callback(client.close)

    # ------------------------------------------------------------ brokers

    def do(self, action: Ability, broker: int) -> None:
        """Performs the action on the broker, and records in `down` whether the broker is down
        after it.
        """
        self.cluster.do(action, broker)
        self.faults.append(Fault(at_ns=time.monotonic_ns(), do=action.value, node=broker))
        if action in (Ability.KILL, Ability.STOP, Ability.LOSE_POWER):
            self.down.add(broker)
        if action is Ability.START:
            self.down.discard(broker)

    def lose_disk(self, broker: int, *, listed: bool) -> None:
        """Deletes the last directory in the log.dirs of a broker that is down.

        If `listed` is true, log.dirs still lists this directory, which is empty after the call.
        """
        self.cluster.lose_disk(broker, listed=listed)
        self.faults.append(Fault(at_ns=time.monotonic_ns(), do="lose-disk", node=broker))

    def fail_disk(self, broker: int) -> None:
        """Renames the last directory in the log.dirs of a running broker, so that the broker's
        next checkpoint in it fails.
        """
        folder = self.cluster.log_dirs(broker)[-1]
        folder.rename(folder.with_name(f"{folder.name}-failed"))
        self.faults.append(Fault(at_ns=time.monotonic_ns(), do="fail-disk", node=broker))

    def state(self, at: int | None = None, index: int | None = None) -> PartitionState | None:
        """Returns a partition in the metadata of a broker. The broker is `at`, or the first broker
        that responds if `at` is None. The partition is number `index`, or the one that all steps
        use if `index` is None.

        Returns None if no broker responds, or if the broker does not know the partition.
        """
        return next(self.states(at, index), None)

    def states(
        self, at: int | None = None, index: int | None = None
    ) -> Iterator[PartitionState | None]:
        """Yields the partition in the metadata of each broker that responds, or None for a broker
        that does not know the partition. The parameters have the same meaning as in `state`.
        """
        partition = self.index if index is None else index
        for broker in self.up() if at is None else (at,):
            try:
                yield partition_state(self.cluster.address(broker), self.topic.name, partition)
            except OSError:
                continue  # it is starting or stopping; another one may answer

    @property
    def index(self) -> int:
        return self.topic.partitions - 1

    @property
    def place(self) -> tuple[str, int]:
        return self.topic.name, self.index

    @property
    def key(self) -> str:
        return self.topic.key(self.index)

    def up(self) -> tuple[int, ...]:
        return tuple(one for one in self.cluster.brokers if one not in self.down)

    def call(self, api: Api, version: int, body: Mapping[str, Any], at: int | None = None) -> Any:
        return call(self.cluster.address(self.up()[0] if at is None else at), api, version, body)

    def administration(self, at: int | None = None) -> Administration:
        """Returns a sender of administrator requests to the broker `at`. If `at` is None, the
        requests go to the first broker that is up.
        """
        return Administration(lambda api, version, body: self.call(api, version, body, at))

    def log_of(self, node: int) -> Path:
        return self.cluster.log(node)

    def log_dirs_of(self, node: int) -> tuple[Path, ...]:
        return self.cluster.log_dirs(node)

    def values_of(self, node: int) -> list[bytes | None]:
        topic, index = self.place
        segments = sorted((self.log_dirs_of(node)[0] / f"{topic}-{index}").glob("*.log"))
        found = (batch for one in segments for batch in whole_batches(one.read_bytes()))
        return [record.value for batch in found for _, record in decode(batch)]

    def lost_by(self, node: int) -> int:
        place = f"{self.topic.name}-{self.index}"
        return sum(
            one.last + 1 - one.first for one in self.cluster.lost(node) if one.partition == place
        )

    # ------------------------------------------------------------ the network

    @property
    def proxies(self) -> Proxies:
        assert self.cluster.proxies is not None, "the layout has no proxies"
        return self.cluster.proxies

    def add_rule(self, name: str, rule: Rule) -> None:
        self.rules[name] = self.proxies.add(rule)

    def lift_rules(self, *names: str) -> None:
        for name in names or tuple(self.rules):
            self.proxies.lift(self.rules[name])

    # ------------------------------------------------------------ clients

    def clients(self) -> Clients:
        return Clients.connect(self.servers, ClientConfig())

    @property
    def servers(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in map(self.cluster.address, self.up()))

    def send(self, values: list[str], acks: Acks, key: bytes | None = None) -> None:
        clients = Clients.connect(self.servers, ClientConfig(PATIENT))
        producer = SharedProducer(lambda: clients.producer(acks)).now
        process = self.shared.new_process()
        for value in values:
            outcome = self._send(producer, process, value, key)
            if outcome != "ok":
                process = self.shared.new_process()

    def _send(self, producer: Any, process: int, value: str, key: bytes | None) -> Outcome:
        name = self.key
        operation = self.shared.history.invoke(process, "send", (Send(name, value),))
        ended: list[Outcome] = []

        def reported(error: Any, message: Any) -> None:
            outcome = outcomes.of_delivery(error)
            offset = None if error is not None else outcomes.offset_of(message)
            self.ended(operation, value, outcome, offset, outcomes.reason(error))
            ended.append(outcome)

        try:
            producer.produce(
                self.topic.name, value=value, key=key, partition=self.index, on_delivery=reported
            )
        except KafkaException as error:
            self.ended(operation, value, "fail", None, outcomes.reason(error.args[0]))
            return "fail"
        until = time.monotonic() + SENT_WITHIN_S
        while not ended and time.monotonic() < until:
            producer.poll(0.02)
        return ended[0] if ended else "info"

    def ended(
        self, operation: int, value: str, outcome: Outcome, offset: int | None, error: str | None
    ) -> None:
        did = (Send(self.key, value, offset),)
        self.shared.history.complete(operation, outcome, did, error)
        self._ended(value, outcome, offset, error)

    def _ended(self, value: str, outcome: Outcome, offset: int | None, error: str | None) -> None:
        if outcome == "ok":
            self.acknowledged.append(value)
            if offset is not None:
                self.offsets[value] = offset
        else:
            self.refused[value] = error or outcome

    def begin_send(self, value: str, acks: Acks) -> None:
        thread = threading.Thread(target=self.send, args=([value], acks), daemon=True)
        thread.start()
        self._sending.append(thread)

    def send_once(self, broker: int, value: str) -> None:
        """Sends one produce request with acks=all to a broker, and does not retry it."""
        batch = encode([Record(value=value.encode(), timestamp_ms=time.time_ns() // 1_000_000)])
        partition = {"index": self.index, "records": batch}
        body = {
            "acks": -1,
            "timeout": ONCE_WITHIN_MS,
            "topic_data": [{"name": self.topic.name, "partition_data": [partition]}],
        }
        did = (Send(self.key, value),)
        operation = self.shared.history.invoke(self.shared.new_process(), "send", did)
        # If the ISR has not replicated the record in time, the answer is REQUEST_TIMED_OUT.
        answer = self.call(Api.PRODUCE, 9, body, broker)
        answered = answer["responses"][0]["partition_responses"][0]
        error = answered["error_code"]
        if error == "NONE":
            self.ended(operation, value, "ok", answered["base_offset"], None)
        else:
            self.ended(operation, value, "info", None, error)

    def java_send(self, value: str, *, joins: bool = False, hours_old: int = 0) -> None:
        """Sends a record with Kafka's Java producer. The first call starts this producer.

        If `joins` is true, this record and the previous one are one operation in the history. The
        record's timestamp is `hours_old` hours before the present time.
        """
        if self.java is None:
            log = self.cluster.folder / "java-producer.log"
            self.java = JavaProducer.start(
                self.cluster.jars.classpath, self.servers, self.topic.name, self._java_ended, log
            )
        sent = Send(self.key, value)
        if joins:
            # So the history has the order of the two.
            self._java[-1].add(sent, self.shared.history)
        else:
            self._java.append(JavaSends.begun(sent, self.shared))
        now_ms = time.time_ns() // 1_000_000
        self.java.send(value, now_ms - hours_old * HOUR_MS if hours_old else None)

    def start_java_consumer(self, name: str, settings: Mapping[str, str]) -> None:
        log = self.cluster.folder / "java-consumer.log"
        self.java_consumers[name] = JavaConsumer.start(
            self.cluster.jars.classpath, self.servers, self.topic.name, settings, log
        )

    def _java_ended(
        self, value: str, outcome: Outcome, offset: int | None, error: str | None
    ) -> None:
        (sends,) = (one for one in self._java if value in one.values)
        sends.end(value, outcome, offset, error, self.shared.history)
        self._ended(value, outcome, offset, error)

    @property
    def client(self) -> TransactionalClient:
        if self._client is None:
            self._client = TransactionalClient.connect(self.servers, self.shared, self.topic)
        return self._client

    def share_member(self, name: str) -> ShareMember:
        """Returns the member of the share group with this name. At the first call with a name,
        the member joins the group.
        """
        if name not in self._share_members:
            self._share_members[name] = ShareMember.join(self.servers, self.topic.name)
        return self._share_members[name]

    def close_share_member(self, name: str) -> None:
        """Closes the member of the share group with this name, so that it leaves the group."""
        self._share_members.pop(name).close()

    def transactions(self, version: int) -> RawTransactions:
        """Returns a `RawTransactions`: a transactional producer of which the caller chooses each
        request. The first call creates it, with the transaction version `version`.
        """
        if self._raw is None:
            self._raw = RawTransactions(self.call, self.topic.name, version)
        return self._raw

    def begin_transaction(self, value: str) -> None:
        """Begins a transaction, and sends a record in it. The transaction is one operation of
        the history.
        """
        name = self.key
        self._transaction = self.shared.history.invoke(
            self.shared.new_process(),
            "txn",
            (Send(name, value),),
            transactional_id=TRANSACTIONAL_ID,
        )
        answer = self.transactions(2).produce(value)
        self.noted = answer["error_code"]
        offset = answer["base_offset"] if self.noted == "NONE" else None
        self._in_transaction = (Send(name, value, offset),)

    def end_transaction(self, *, commit: bool) -> None:
        """Commits or aborts the transaction. The outcome of its operation is `ok` after a
        commit, `fail` after an abort, and `info` if the response has an error.
        """
        self.noted = self.transactions(2).end(commit=commit)
        ended: Outcome = "info" if self.noted != "NONE" else "ok" if commit else "fail"
        self.shared.history.complete(
            self._transaction, ended, self._in_transaction, None if commit else "aborted"
        )

    def read(self, isolation: Isolation = "read_committed") -> None:
        clients = self.clients()
        reader, querying = clients.reader(isolation), clients.reader(isolation)
        self.unread = read_to_the_end(self.shared, reader, querying, [self.topic])
