"""Checks that a node learns facts about transactions only from messages.

The abstract spec has no messages, so it would accept a node that acts on a fact too early. Five
rules prevent this:

- A response arrives after its request. The response states only facts that are already true: the
  result of a transaction, a topic partition added to the transaction, or a record or marker
  committed to a log.
- A WriteTxnMarker request carries a decision that a coordinator has made.
- A transaction commits only if a client requested this. An abort that no client requested fences
  the producer.
- A producer epoch reaches only one instance, after a coordinator has assigned it.
- A coordinator changes its cache only in a step that also moves the high watermark of its log.

Source: the happened-before relation of Lamport; KIP-98, KIP-890.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from model.language.interpreter import State
from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition
from properties.refinement.behaviour import Call
from properties.refinement.trace_validation import ExpectedStep
from properties.refinement.transaction_numbers import CarriedEpoch, TransactionNumbers
from reference_impl.broker.broker import Broker
from reference_impl.node.step import RequestReceived, ResponseReceived, TimerFired
from reference_impl.protocol.controller import AlteredPartition, UpdateMetadata
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.simulation.trace import Traced
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import RESULTS, TransactionMetadata

_UNCOMMITTED: Final = "the coordinator's cache changed, but its log was not committed further"
UNREQUESTED: Final = "no client requested this commit"


class Ending(NamedTuple):
    """COMMIT or ABORT as a message carries it, with the producer id and the producer epoch of the
    message.
    """

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    result: TxnResult


@dataclass(slots=True)
class TransactionKnowledge:
    """The facts that messages of a run have delivered so far: the requests of clients, the
    decisions of coordinators, and the producer epochs.
    """

    numbers: TransactionNumbers
    epochs_taken: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    committed: dict[TopicPartition, int] = field(default_factory=dict[TopicPartition, int])
    _requests: dict[tuple[NodeId, NodeId, int], Request] = field(
        default_factory=dict[tuple[NodeId, NodeId, int], Request]
    )
    _requested: set[Ending] = field(default_factory=set[Ending])
    _high_watermarks: dict[tuple[NodeId, TopicPartition], int] = field(
        default_factory=dict[tuple[NodeId, TopicPartition], int]
    )
    _instances: dict[tuple[ProducerId, ProducerEpoch], tuple[NodeId, int]] = field(
        default_factory=dict[tuple[ProducerId, ProducerEpoch], tuple[NodeId, int]]
    )

    def fork(self, numbers: TransactionNumbers) -> Self:
        return replace(
            self,
            numbers=numbers,
            epochs_taken=set(self.epochs_taken),
            committed=dict(self.committed),
            _requests=dict(self._requests),
            _requested=set(self._requested),
            _high_watermarks=dict(self._high_watermarks),
            _instances=dict(self._instances),
        )

    # ---- messages

    def violation(self, traced: Traced, state: State) -> str:
        """Returns an error text if a received message states a fact that is not true yet. Otherwise
        returns an empty text.

        For example, a message states that a transaction is committed, but no coordinator has
        decided to commit it. If the event is the arrival of a request, the request is stored.
        """
        match traced.event:
            case RequestReceived(sender, correlation, request):
                self._requests[sender, traced.node, correlation] = request
                if isinstance(request, EndTxn):
                    epoch = request.producer_epoch
                    self._requested.add(Ending(request.producer_id, epoch, request.result))
                if isinstance(request, WriteTxnMarker) and not self._is_decided(state, request):
                    return f"no {request.result.name} was decided in epoch {request.producer_epoch}"
            case ResponseReceived(sender, correlation, response):
                request_answered = self._requests.get((traced.node, sender, correlation))
                if request_answered is None:
                    return f"node {sender} has not received the request that it answers"
                if getattr(response, "error", None) is ErrorCode.NONE:
                    return self._untrue_response(state, request_answered, response)
            case _:
                pass
        return ""

    def _untrue_response(self, state: State, request: Request, response: Response) -> str:
        match request, response:
            case EndTxn(version=TransactionVersion.V2), EndedTxn():
                by = Ending(response.producer_id, response.producer_epoch, request.result)
                is_so = self._is_decided(state, by, of=request.producer_epoch)
                return "" if is_so else f"that transaction did not {by.result.name}"
            case Produce(transactional_id=str(), acks=-1), Produced(base_offset=offset):
                committed = self.committed.get(request.topic_partition, 0)
                return "" if offset < committed else f"offset {offset} is not committed"
            case WriteTxnMarker(topic_partition=topic_partition), _:
                is_marked = self._has(state, request, "marker_epoch", "marked", (topic_partition,))
                return "" if is_marked else "the marker is not committed"
            case AddPartitionsToTxn(topic_partitions=topic_partitions), _:
                is_added = self._has(state, request, "producer_epoch", "added", topic_partitions)
                return "" if is_added else "the topic partition is not added to the transaction"
            case _:
                return ""

    def _is_decided(
        self, state: State, ending: WriteTxnMarker | Ending, of: ProducerEpoch | None = None
    ) -> bool:
        decided = "committed" if ending.result is TxnResult.COMMIT else "aborted"
        return any(
            state[decided, (x,)] and of in {None, state["producer_epoch", (x,)]}
            for x in self.numbers.carrying(state, ending, "marker_epoch")
        )

    def _has(
        self,
        state: State,
        request: WriteTxnMarker | AddPartitionsToTxn,
        carries: CarriedEpoch,
        variable: str,
        topic_partitions: Sequence[TopicPartition],
    ) -> bool:
        transactions = self.numbers.carrying(state, request, carries)
        numbers = [self.numbers.topic_partitions[it] for it in topic_partitions]
        return all(any(state[variable, (x, t)] for x in transactions) for t in numbers)

    def epoch_received(self, traced: Traced) -> ExpectedStep | None:
        """Returns the spec's step for the arrival of a response that assigns a producer epoch to a
        client.

        Returns None for any other event.
        """
        match traced.event:
            case ResponseReceived(
                sender, correlation, InitializedProducerId(error=ErrorCode.NONE) as response
            ):
                request = self._requests[traced.node, sender, correlation]
                if not isinstance(request, InitProducerId) or request.transactional_id is None:
                    return None
                p, epoch = self.numbers.producers[request.transactional_id], response.producer_epoch
                instance = traced.node, correlation
                owner = self._instances.setdefault((response.producer_id, epoch), instance)
                again = Call("init_producer", (p, epoch))
                is_taken = (p, epoch) in self.epochs_taken
                return ExpectedStep(
                    calls=() if owner == instance else (again,),
                    violation="" if is_taken else f"no instance took epoch {epoch}",
                )
            case _:
                return None

    # ---- the coordinator

    def unfounded_change(
        self,
        traced: Traced,
        broker: Broker,
        before: TransactionCoordinator | None,
        after: TransactionCoordinator,
    ) -> str:
        """Returns an error text if the coordinator's cache changed although no new record of its
        log was committed. Otherwise returns an empty text.
        """
        topic_partition = after.topic_partition
        was = self._high_watermarks.get((traced.node, topic_partition))
        mark = broker.replicas[topic_partition].log.high_watermark
        self._high_watermarks[traced.node, topic_partition] = mark
        if before is None or before.coordinator_epoch != after.coordinator_epoch:
            return ""
        is_changed = before.transactions != after.transactions
        may_commit = was != mark and _may_move_high_watermark(traced, topic_partition)
        return _UNCOMMITTED if is_changed and not may_commit else ""

    def is_requested(self, before: TransactionMetadata | None, after: TransactionMetadata) -> bool:
        """Returns True if a client requested the outcome, commit or abort, that the transaction has
        in `after`.
        """
        was = after if before is None else before
        return Ending(was.producer_id, was.producer_epoch, RESULTS[after.state]) in self._requested


def _may_move_high_watermark(traced: Traced, topic_partition: TopicPartition) -> bool:
    match traced.event:
        case RequestReceived(request=UpdateMetadata()):
            return True
        case RequestReceived(request=Fetch(topic_partition=about)):
            return about == topic_partition
        case ResponseReceived(response=AlteredPartition(topic_partition=about)):
            return about == topic_partition
        case TimerFired(timer):
            return timer.topic_partition == topic_partition
        case _:
            return False
