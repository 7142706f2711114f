"""A simulated transactional producer. Either all sends of a transaction take effect, or none of
them.

The drawing has the calls of the application in order, and the effects of errors:

    init_transactions -> begin -> send, send_offsets ... -> commit | abort -> begin ...
           |                             | rejected            |
           |                             v                     | fenced, or unknown
           |                        only abort is possible     v
           +--------------------------------------------- over: create another producer

In transaction version 1 (V1), a producer adds each topic partition at the coordinator before it
sends records to the partition. Its producer epoch changes only after an abort that an error forced.
In transaction version 2 (V2, KIP-890), the leaders add the partitions, and each EndTxn response has
the next producer epoch.

A transaction is one operation `txn` of the history. Its outcome is `ok` if it committed, `fail` if
it certainly did not commit, and `info` otherwise. Each new producer is a new process of the
history, which begins with the operation `init_producer`.

Source: KIP-98, KIP-360, KIP-588, KIP-890; docs/kafka-rules.md D1 to D4, D8, D10; the Java client's
TransactionManager.
Simplified: one record is in flight at a time. If a commit has no response after `attempts`
requests, the producer cannot be used any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from model.histories import CommitOffset, Isolation, Outcome
from model.histories import Send as Sent
from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, TopicPartition
from model.vocabulary import Sequence as SequenceNumber
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.groups import NO_GENERATION, NO_MEMBER, CommitOffsets, CommittedOffset
from reference_impl.protocol.messages import (
    NO_PRODUCER_EPOCH,
    RETRIABLE,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
)
from reference_impl.simulation.broker_client import BACKOFF_MS, BrokerClient, error_of
from reference_impl.simulation.programs import CALL_MS, Application, Pause, Steps
from reference_impl.simulation.sender import REPLICATION_MS

# Errors that end the producer. Any other non-retriable error ends only its transaction: a leader's
# INVALID_PRODUCER_EPOCH may mean no more than that the transaction has timed out (KIP-588).
FATAL: Final = frozenset({
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
})  # fmt: skip
FATAL_OF_COORDINATORS: Final = FATAL | {ErrorCode.INVALID_PRODUCER_EPOCH}


@dataclass(slots=True, kw_only=True)
class TransactionalProducer:
    """One instance of a producer with a transactional id. Another instance with the same
    transactional id can replace it.
    """

    app: Application
    brokers: BrokerClient
    transactional_id: str
    version: TransactionVersion = TransactionVersion.V2
    timeout_ms: int = 60_000  # transaction.timeout.ms
    attempts: int | None = None  # of each request to its coordinator; None: until a response
    send_attempts: int | None = None  # of each request with a record or with offsets
    call_ms: int = CALL_MS  # timeout of each request
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    failed: ErrorCode | None = None  # why the open transaction can only be aborted
    over: ErrorCode | None = None  # why this producer cannot be used any more
    _process: int | None = None  # of this instance in the history
    _coordinator_may_know: bool = False  # the coordinator may know of the open transaction
    _added: set[TopicPartition | str] = field(default_factory=set[TopicPartition | str])
    _sequences: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _acknowledged: dict[Sent, Sent] = field(default_factory=dict[Sent, Sent])

    def init_transactions(self) -> Steps[bool]:
        """Requests a producer id and a producer epoch from the coordinator, and returns False after
        an error.

        The coordinator aborts the open transaction of an older instance with the same transactional
        id.
        """
        self.app.become_new_process()
        self._process = self.app.process
        self.app.begin("init_producer", transactional_id=self.transactional_id)
        yield from self._init_producer_id()
        error = None if self.over is None else self.over.name
        self.app.end("ok" if error is None else "info", error=error)
        return error is None

    # ------------------------------------------------------------ a transaction

    def begin(
        self, *, group: str | None = None, isolation: Isolation | None = "read_committed"
    ) -> None:
        if self._process is not None:
            self.app.process = self._process
        self.app.begin(
            "txn", transactional_id=self.transactional_id, group=group, isolation=isolation
        )

    def send(self, topic_partition: TopicPartition, value: str) -> Steps[Offset | None]:
        """Sends a record in the transaction, and returns its offset.

        The result is None after an error. The transaction can then only be aborted.
        """
        if self._is_stopped():
            return None
        sent = Sent(str(topic_partition), value)
        self.app.does(sent)
        yield from self._add(topic_partition)
        if self._is_stopped():
            return None
        request = Produce(
            topic_partition=topic_partition,
            batches=self._encoded(topic_partition, value),
            timeout_ms=REPLICATION_MS,
            transactional_id=self.transactional_id,
            adds_partition=self.version is TransactionVersion.V2,
        )
        self._coordinator_may_know = True
        answer = yield from self.brokers.call_leader(
            topic_partition, request, attempts=self.send_attempts, timeout_ms=self.call_ms
        )
        if not isinstance(answer, Produced) or answer.error is not ErrorCode.NONE:
            self._refuse(error_of(answer), FATAL)
            return None
        self._sequences[topic_partition] = self._sequences.get(topic_partition, 0) + 1
        self._acknowledged[sent] = Sent(sent.key, sent.value, answer.base_offset)
        return answer.base_offset

    def send_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, Offset],
        *,
        generation: int = NO_GENERATION,
        member_id: str = NO_MEMBER,
    ) -> Steps[bool]:
        """Adds the group's offsets to the transaction. Returns False after an error. The
        transaction can then only be aborted.
        """
        # Without a member id, as before KIP-447, the group does not check its generation.
        if self._is_stopped():
            return False
        self.app.does(*(CommitOffset(str(place), offset) for place, offset in offsets.items()))
        while (group, False) not in self.brokers.coordinators:
            yield from self.brokers.find_coordinator(group, is_transactional=False)
        if self.version is TransactionVersion.V1 and group not in self._added:
            adding = AddOffsetsToTxn(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                group=group,
            )
            self._coordinator_may_know = True
            yield from self._require(adding)
            if self._is_stopped():
                return False
            self._added.add(group)
        request = CommitOffsets(
            group=group,
            offsets=tuple((place, CommittedOffset(offset=at)) for place, at in offsets.items()),
            generation=generation,
            member_id=member_id,
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            adds_partition=self.version is TransactionVersion.V2,
        )
        self._coordinator_may_know = True
        answer = yield from self.brokers.call_coordinator(
            group, request, attempts=self.send_attempts, timeout_ms=self.call_ms
        )
        if error_of(answer) is not ErrorCode.NONE:
            self._refuse(error_of(answer), FATAL_OF_COORDINATORS)
        return not self._is_stopped()

    def commit(self) -> Steps[Outcome]:
        """Commits the transaction, or aborts it if an error occurred in the transaction. Returns
        the outcome.
        """
        if self._is_stopped():
            return (yield from self.abort())
        if not self._coordinator_may_know:
            return self._ended("ok", None)
        self.app.note_end_request()
        error, is_first = yield from self._end(TxnResult.COMMIT)
        if error is ErrorCode.NONE:
            return self._ended("ok", None)
        self._refuse(error, FATAL_OF_COORDINATORS)
        if self.over is None and error not in RETRIABLE:
            return (yield from self.abort())
        self.over = error
        is_refusal = is_first and error not in RETRIABLE
        return self._ended("fail" if is_refusal else "info", error)

    def abort(self) -> Steps[Outcome]:
        """Aborts the transaction, and returns the outcome `fail`.

        The outcome is `info` if the abort fails after a commit request, because this commit request
        may still take effect.
        """
        assert self.app.open is not None
        commit_was_requested = self.app.open.end_asked_ns is not None
        failed = self.failed
        error = ErrorCode.NONE
        if self.over is None and self._coordinator_may_know:
            if not commit_was_requested:
                self.app.note_end_request()
            error, _ = yield from self._end(TxnResult.ABORT)
            if error is not ErrorCode.NONE:
                self.over = error
        in_doubt = commit_was_requested and error is not ErrorCode.NONE
        outcome = self._ended("info" if in_doubt else "fail", self.over or failed or error)
        if failed is not None and self.over is None and self.version is TransactionVersion.V1:
            yield from self._init_producer_id()
        return outcome

    # ------------------------------------------------------------ the coordinator

    def _init_producer_id(self) -> Steps[None]:
        request = InitProducerId(
            transactional_id=self.transactional_id,
            timeout_ms=self.timeout_ms,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
        )
        answer = yield from self._request(request)
        if isinstance(answer, InitializedProducerId) and answer.error is ErrorCode.NONE:
            self._use_producer(answer.producer_id, answer.producer_epoch)
        else:
            self.over = error_of(answer)

    def _add(self, topic_partition: TopicPartition) -> Steps[None]:
        if self.version is TransactionVersion.V2 or topic_partition in self._added:
            return
        adding = AddPartitionsToTxn(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            topic_partitions=(topic_partition,),
        )
        self._coordinator_may_know = True
        yield from self._require(adding)
        if not self._is_stopped():
            self._added.add(topic_partition)

    def _end(self, result: TxnResult) -> Steps[tuple[ErrorCode, bool]]:
        """Sends EndTxn until the request succeeds or a retry is useless.

        Returns the error of the final response, and True if EndTxn was sent only one time.
        """
        request = EndTxn(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            result=result,
            version=self.version,
        )
        # After several requests an error leaves the outcome unknown: an earlier one may have had
        # its effect.
        attempts_made = 0
        while True:
            answer = yield from self._request(request, attempts=1)
            attempts_made += 1
            error = error_of(answer)
            if isinstance(answer, EndedTxn) and error is ErrorCode.NONE:
                if self.version is TransactionVersion.V2:
                    self._use_producer(answer.producer_id, answer.producer_epoch)
                return error, attempts_made == 1
            if error not in RETRIABLE or attempts_made == self.attempts:
                return error, attempts_made == 1
            yield Pause(BACKOFF_MS)

    def _require(self, request: Request) -> Steps[None]:
        answer = yield from self._request(request)
        if error_of(answer) is not ErrorCode.NONE:
            self._refuse(error_of(answer), FATAL_OF_COORDINATORS)

    def _request(self, request: Request, *, attempts: int | None = None) -> Steps[Response | None]:
        return self.brokers.call_coordinator(
            self.transactional_id,
            request,
            is_transactional=True,
            attempts=attempts or self.attempts,
            timeout_ms=self.call_ms,
        )

    # ------------------------------------------------------------ its own state

    def _is_stopped(self) -> bool:
        return self.failed is not None or self.over is not None

    def _refuse(self, error: ErrorCode, fatal: frozenset[ErrorCode]) -> None:
        self.failed = error
        if error in fatal:
            self.over = error

    def _use_producer(self, producer_id: ProducerId, producer_epoch: ProducerEpoch) -> None:
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self._sequences.clear()

    def _ended(self, outcome: Outcome, error: ErrorCode | None) -> Outcome:
        assert self.app.open is not None
        did = tuple(
            self._acknowledged.get(it, it) if isinstance(it, Sent) else it
            for it in self.app.open.did
        )
        name = None if error is None else "ABORTED" if error is ErrorCode.NONE else error.name
        self.app.end(outcome, *did, error=name, instead=True)
        self._acknowledged.clear()
        self._added.clear()
        self._coordinator_may_know, self.failed = False, None
        return outcome

    def _encoded(self, topic_partition: TopicPartition, value: str) -> bytes:
        return encode(
            [Record(value=value.encode(), timestamp_ms=self.app.now_ms)],
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=SequenceNumber(self._sequences.get(topic_partition, 0)),
            transactional=True,
        )
