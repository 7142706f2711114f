"""A cluster and the client of one transactional id, for plans: what each can do, and come to have.

The client asks one thing at a time, each on a connection of its own. The name of a transaction,
which no request carries, is in its records. How far transactions have come is read in the
coordinator's log, and what became of records in the leader's.

Simplified: one topic partition, and records without sequence numbers that grow: no transaction has
two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, Sequence, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log import transaction_marker
from reference_impl.log.coordinator_log import read_batches
from reference_impl.log.record_batch import Record, decode, encode
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
PLACE: Final = TopicPartition("pairs", 1)  # led by another broker than the coordinator
WAIT_MS: Final = 5_000
LATE_MS: Final = 2_000  # everything else has happened by then
VERIFIED_LATE_MS: Final = 250  # a leader gives up after 300
COMES_OF_IT_MS: Final = 50


class Entry(NamedTuple):
    """What is at an offset of the log: a record of a transaction, or a marker."""

    transaction: int | None
    marker: TxnResult | None = None


@dataclass(slots=True)
class Stage:
    """A cluster, and the client of one transactional id."""

    cluster: Cluster
    version: TransactionVersion
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    begun: int = 0  # transactions
    asked: dict[int, TxnResult] = field(default_factory=dict[int, TxnResult])  # by the client

    @classmethod
    def of(cls, version: TransactionVersion, bugs: Bugs, *, unclean: bool = False) -> Self:
        """Nothing has begun; the coordinator is no replica of what the client writes to."""
        cluster = Cluster(bugs=bugs)
        cluster.create_topic(
            CreateTopic(topic=TRANSACTION_STATE, replication_factor=3, min_insync_replicas=2)
        )
        cluster.create_topic(
            CreateTopic(
                topic=PLACE.topic,
                topic_partitions=2,
                replication_factor=2,
                unclean_leader_election=unclean,
            )
        )
        return cls(cluster, version)

    # ---- what the client does

    def init_producer(self) -> None:
        """The client has a producer id."""
        told = self._coordinator_says(InitProducerId(transactional_id=ID))
        assert isinstance(told, InitializedProducerId)
        self.producer_id, self.producer_epoch = told.producer_id, told.producer_epoch

    def begin(self) -> None:
        """A transaction begins: so far only its client knows."""
        self.begun += 1

    def add_partition(self) -> None:
        """The coordinator knows that the transaction writes here."""
        self._coordinator_says(
            AddPartitionsToTxn(
                transactional_id=ID,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                topic_partitions=(PLACE,),
            )
        )

    def send_with_late_verification(self) -> None:
        """A record waits at the leader, which will hear late that its transaction is open."""
        leader = NodeId(self.cluster.leader(PLACE))
        held = On(api="AddPartitionsToTxn", source=leader, does=Hold(VERIFIED_LATE_MS))
        self.cluster.apply(held)
        self._program(lambda brokers: brokers.call_leader(PLACE, self._record()))

    def append(self) -> None:
        """A record of the transaction is taken by the leader, or refused."""
        self._answer(lambda brokers: brokers.call_leader(PLACE, self._record()))

    def commit(self) -> None:
        """The coordinator is asked to commit, until it says that it will."""
        self._end(TxnResult.COMMIT)

    def abort(self) -> None:
        """The coordinator is asked to abort, until it says that it will."""
        self._end(TxnResult.ABORT)

    def commit_with_late_marker(self) -> None:
        """The same as a commit; the first marker is late, and the coordinator sends another."""
        self.cluster.apply(On(api="WriteTxnMarker", moment="before", does=Hold(LATE_MS)))
        self.commit()

    def commit_with_late_copy(self) -> None:
        """The same as a commit; the first request is late, and the client sends another."""
        self.cluster.apply(On(api="EndTxn", moment="before", does=Hold(LATE_MS)))
        self.commit()

    def fence_while_one_lags(self) -> None:
        """A newer instance has what is open aborted, and one replica hears nothing of it."""
        leader = self.cluster.leader(PLACE)
        (laggard,) = {*self.cluster.in_sync(PLACE)} - {leader}
        self.cluster.isolate(laggard)
        self._until(lambda: self.cluster.in_sync(PLACE) == (leader,))
        self.init_producer()

    def fence_in_vain(self) -> None:
        """A newer instance is given no epoch: the coordinator's log has too few in sync."""
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
        self.asked[self.begun - 1] = result
        told = self._coordinator_says(
            EndTxn(
                transactional_id=ID,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                result=result,
                version=self.version,
            )
        )
        if isinstance(told, EndedTxn) and self.version is TransactionVersion.V2:
            self.producer_id, self.producer_epoch = told.producer_id, told.producer_epoch

    def _record(self) -> Produce:
        return Produce(
            topic_partition=PLACE,
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
        """The replica that lags leads if it may; else whoever led, when it comes back."""
        leader = self.cluster.leader(PLACE)
        self.cluster.crash(leader)
        self.cluster.heal()
        self.cluster.run_until(
            lambda: self.cluster.leader(PLACE) not in {leader, NO_BROKER}, WAIT_MS
        )
        self.cluster.restart(leader)
        self._until(self.cluster.is_led)

    # ---- what is waited for

    def marked(self) -> None:
        """A marker has come to the leader, which took it or did not."""
        self._comes(WriteTxnMarker, 1)

    def marked_again(self) -> None:
        """So has the one that was late."""
        self._comes(WriteTxnMarker, 2)

    def end_asked_again(self) -> None:
        """The request to end that was late has come to the coordinator."""
        self._comes(EndTxn, 2)

    def asked_to_verify(self) -> None:
        """After the client, the leader has asked the coordinator for the topic partition."""
        self._comes(AddPartitionsToTxn, 2)

    def verified(self) -> None:
        """So has the leader heard from it."""
        self._comes(AddedPartitionsToTxn, 2)

    def complete(self) -> None:
        """The coordinator has heard of every marker."""
        self._until(lambda: self.transactions()[-1] in COMPLETED.values())

    def _comes(self, message: type[Request | Response], times: int) -> None:
        events = self.cluster.trace.events
        self._until(lambda: sum(isinstance(_message(e.event), message) for e in events) >= times)
        self.cluster.run_for(COMES_OF_IT_MS)

    def _until(self, condition: Callable[[], bool]) -> None:
        if not self.cluster.run_until(condition, WAIT_MS):
            raise NoProgress(f"what the plan waits for does not come within {WAIT_MS} ms")

    # ---- asking

    def _coordinator_says(self, request: Request) -> Response | None:
        return self._answer(
            lambda brokers: brokers.call_coordinator(ID, request, is_transactional=True)
        )

    def _answer(self, asking: Callable[[BrokerClient], Steps[Response | None]]) -> Response | None:
        program, answers = self._program(asking)
        self._until(lambda: self.cluster.is_over(program))
        return answers[0]

    def _program(
        self, asking: Callable[[BrokerClient], Steps[Response | None]]
    ) -> tuple[NodeId, list[Response | None]]:
        answers: list[Response | None] = []

        def conduct(app: Application) -> Program:
            answers.append((yield from asking(BrokerClient(app=app))))

        return self.cluster.run_program(conduct), answers

    # ---- what brokers have

    def leader(self, place: TopicPartition) -> Broker:
        """Whoever leads, with what it has in its memory."""
        node = NodeId(self.cluster.leader(place))
        events = reversed(self.cluster.trace.events)
        return next(e.after for e in events if e.node == node and isinstance(e.after, Broker))

    def memory(self) -> TransactionMetadata:
        """The transactional id, as the coordinator answers from."""
        (role,) = (
            role
            for role in self.leader(STATE_LOG).local_coordinators.roles.values()
            if isinstance(role, TransactionCoordinator)
        )
        return role.transactions[ID]

    def committed(self) -> list[TransactionMetadata]:
        """The transactional id, each time that the coordinator's log was committed further."""
        log = self.leader(STATE_LOG).replicas[STATE_LOG].log
        batches = read_batches(log, end=log.high_watermark)
        return [TransactionMetadata.of(entry) for batch in batches for entry in batch.entries]

    def transactions(self) -> list[TxnState]:
        """How far each transaction has come that the coordinator knows of."""
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
        """The log of the topic partition, offset by offset."""
        return [
            Entry(None, transaction_marker.read(batch.data).result)
            if batch.header.is_control
            else Entry(int(record.value or b""))
            for batch in self.leader(PLACE).replicas[PLACE].log.batches()
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
