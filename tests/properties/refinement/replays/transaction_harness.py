"""A cluster and the client of one transactional id: the harness for replays of transactions.

The client sends one request at a time, each on its own connection. Requests do not carry the number
of the transaction, so the client writes this number into the records. The state of each transaction
is read from the coordinator's log, and the outcome of its records from the leader's log.

Simplified: there is only one topic partition. Every record has the sequence number 0, so a
transaction has at most one record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, Sequence, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log import transaction_marker
from reference_impl.log.coordinator_log import read_batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.node.bugs import Bugs
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.coordinators import TRANSACTION_STATE
from reference_impl.protocol.messages import (
    NO_BROKER,
    NO_PRODUCER_EPOCH,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produce,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Hold, On
from reference_impl.simulation.programs import Application, Program, Steps
from reference_impl.simulation.world import NoProgress
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import COMPLETED, RESULTS, TransactionMetadata, TxnState

ID: Final = "x"
STATE_LOG: Final = TopicPartition(TRANSACTION_STATE, 0)
WRITTEN: Final = TopicPartition("pairs", 1)  # led by another broker than the coordinator's
WAIT_MS: Final = 5_000
LATE_MS: Final = 2_000  # after everything else has happened
VERIFIED_LATE_MS: Final = 250  # a leader gives up after 300
REACTION_MS: Final = 50  # for the receiver of a message to react


class Entry(NamedTuple):
    """The content of one offset of the partition's log: a record of a transaction, or a marker.

    `transaction` is None for a marker, and `marker` is None for a record.
    """

    transaction: int | None
    marker: TxnResult | None = None


@dataclass(slots=True)
class TransactionHarness:
    cluster: Cluster
    version: TransactionVersion
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    begun: int = 0  # number of transactions
    requested: dict[int, TxnResult] = field(default_factory=dict[int, TxnResult])  # by the client

    @classmethod
    def of(cls, version: TransactionVersion, bugs: Bugs, *, unclean: bool = False) -> Self:
        """Returns a new harness, in which no transaction has begun.

        The coordinator's broker has no replica of the partition to which the client writes. So a
        crash of this partition's leader does not move the coordinator.
        """
        cluster = Cluster(bugs=bugs)
        cluster.create_topic(
            CreateTopic(topic=TRANSACTION_STATE, replication_factor=3, min_insync_replicas=2)
        )
        cluster.create_topic(
            CreateTopic(
                topic=WRITTEN.topic,
                topic_partitions=2,
                replication_factor=2,
                unclean_leader_election=unclean,
            )
        )
        return cls(cluster, version)

    # ---- what the client does

    def init_producer(self) -> None:
        response = self._call_coordinator(InitProducerId(transactional_id=ID))
        assert isinstance(response, InitializedProducerId)
        self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch

    def begin(self) -> None:
        """Begins a transaction in the client. The client sends no request for this."""
        self.begun += 1

    def add_partition(self) -> None:
        self._call_coordinator(
            AddPartitionsToTxn(
                transactional_id=ID,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                topic_partitions=(WRITTEN,),
            )
        )

    def send_with_late_verification(self) -> None:
        """Sends a record. The record waits at the leader, because the verification of its
        transaction is delayed.
        """
        leader = NodeId(self.cluster.leader(WRITTEN))
        held = On(api="AddPartitionsToTxn", source=leader, does=Hold(VERIFIED_LATE_MS))
        self.cluster.apply(held)
        self._program(lambda brokers: brokers.call_leader(WRITTEN, self._record()))

    def append(self) -> None:
        self._answer(lambda brokers: brokers.call_leader(WRITTEN, self._record()))

    def commit(self) -> None:
        self._end(TxnResult.COMMIT)

    def abort(self) -> None:
        self._end(TxnResult.ABORT)

    def commit_with_late_marker(self) -> None:
        """Commits the transaction. The first marker is delayed, so the coordinator sends a second
        marker.
        """
        self.cluster.apply(On(api="WriteTxnMarker", moment="before", does=Hold(LATE_MS)))
        self.commit()

    def commit_with_late_copy(self) -> None:
        """Commits the transaction. The first EndTxn is delayed, so the client sends a second
        EndTxn.
        """
        self.cluster.apply(On(api="EndTxn", moment="before", does=Hold(LATE_MS)))
        self.commit()

    def fence_while_isolated(self) -> None:
        """Isolates a follower, and initializes the producer again, which aborts the open
        transaction.
        """
        leader = self.cluster.leader(WRITTEN)
        (laggard,) = {*self.cluster.in_sync(WRITTEN)} - {leader}
        self.cluster.isolate(laggard)
        self._until(lambda: self.cluster.in_sync(WRITTEN) == (leader,))
        self.init_producer()

    def fence_that_fails(self) -> None:
        """Sends InitProducerId, as a new producer would, while the coordinator's log cannot commit.

        All other brokers are down during the request, and restart after it.
        """
        coordinator, request = self.cluster.leader(STATE_LOG), InitProducerId(transactional_id=ID)
        others = {*self.cluster.broker_ids} - {coordinator}
        for broker in others:
            self.cluster.crash(broker)
        self._until(lambda: self.cluster.in_sync(STATE_LOG) == (coordinator,))
        self._answer(
            lambda brokers: brokers.call_coordinator(ID, request, is_transactional=True, attempts=1)
        )
        for broker in others:
            self.cluster.restart(broker)
        self._until(self.cluster.is_led)

    def _end(self, result: TxnResult) -> None:
        self.requested[self.begun - 1] = result
        response = self._call_coordinator(
            EndTxn(
                transactional_id=ID,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                result=result,
                version=self.version,
            )
        )
        if isinstance(response, EndedTxn) and self.version is TransactionVersion.V2:
            self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch

    def _record(self) -> Produce:
        return Produce(
            topic_partition=WRITTEN,
            batches=encode(
                [Record(value=str(self.begun - 1).encode())],
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                base_sequence=Sequence(0),
                transactional=True,
            ),
            transactional_id=ID,
            adds_partition=self.version is TransactionVersion.V2,
        )

    def lose_leader(self) -> None:
        """Crashes the leader, waits until another broker leads the partition, and restarts the
        crashed broker.
        """
        leader = self.cluster.leader(WRITTEN)
        self.cluster.crash(leader)
        self.cluster.heal()
        self.cluster.run_until(
            lambda: self.cluster.leader(WRITTEN) not in {leader, NO_BROKER}, WAIT_MS
        )
        self.cluster.restart(leader)
        self._until(self.cluster.is_led)

    # ---- waiting

    def marker_received(self) -> None:
        """Waits until the leader has received a marker. The leader may accept or reject the
        marker.
        """
        self._until_received(WriteTxnMarker, 1)

    def late_marker_received(self) -> None:
        self._until_received(WriteTxnMarker, 2)

    def late_end_received(self) -> None:
        self._until_received(EndTxn, 2)

    def verification_requested(self) -> None:
        self._until_received(AddPartitionsToTxn, 2)

    def verified(self) -> None:
        self._until_received(AddedPartitionsToTxn, 2)

    def complete(self) -> None:
        self._until(lambda: self.transactions()[-1] in COMPLETED.values())

    def _until_received(self, message: type[Request | Response], times: int) -> None:
        events = self.cluster.trace.events
        self._until(lambda: sum(isinstance(_message(e.event), message) for e in events) >= times)
        self.cluster.run_for(REACTION_MS)

    def _until(self, condition: Callable[[], bool]) -> None:
        if not self.cluster.run_until(condition, WAIT_MS):
            raise NoProgress(f"the replay waits for a step that does not occur in {WAIT_MS} ms")

    # ---- requests

    def _call_coordinator(self, request: Request) -> Response | None:
        return self._answer(
            lambda brokers: brokers.call_coordinator(ID, request, is_transactional=True)
        )

    def _answer(self, call: Callable[[BrokerClient], Steps[Response | None]]) -> Response | None:
        program, answers = self._program(call)
        self._until(lambda: self.cluster.is_over(program))
        return answers[0]

    def _program(
        self, call: Callable[[BrokerClient], Steps[Response | None]]
    ) -> tuple[NodeId, list[Response | None]]:
        answers: list[Response | None] = []

        def conduct(app: Application) -> Program:
            answers.append((yield from call(BrokerClient(app=app))))

        return self.cluster.run_program(conduct), answers

    # ---- reading brokers

    def leader(self, topic_partition: TopicPartition) -> Broker:
        node = NodeId(self.cluster.leader(topic_partition))
        events = reversed(self.cluster.trace.events)
        return next(e.after for e in events if e.node == node and isinstance(e.after, Broker))

    def memory(self) -> TransactionMetadata:
        (role,) = (
            role
            for role in self.leader(STATE_LOG).local_coordinators.roles.values()
            if isinstance(role, TransactionCoordinator)
        )
        return role.transactions[ID]

    def committed(self) -> list[TransactionMetadata]:
        log = self.leader(STATE_LOG).replicas[STATE_LOG].log
        batches = read_batches(log, end=log.high_watermark)
        return [TransactionMetadata.of(entry) for batch in batches for entry in batch.entries]

    def transactions(self) -> list[TxnState]:
        known: list[TxnState] = []
        was = TxnState.EMPTY
        for now in self.committed():
            if now.state is TxnState.ONGOING and was is not TxnState.ONGOING:
                known.append(now.state)
            elif now.state in RESULTS:
                known[-1] = now.state
            was = now.state
        return known

    def entries(self) -> list[Entry]:
        """Returns the content of the topic partition's log: one entry for each record or marker, in
        the order of the log.
        """
        return [
            Entry(None, transaction_marker.read(batch.data).result)
            if batch.header.is_control
            else Entry(int(record.value or b""))
            for batch in self.leader(WRITTEN).replicas[WRITTEN].log.batches()
            for _, record in decode(batch.data)
        ]


def _message(event: object) -> Request | Response | None:
    match event:
        case RequestReceived(request=request):
            return request
        case ResponseReceived(response=response):
            return response
        case _:
            return None
