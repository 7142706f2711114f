"""Maps the reads of consumers to abstract replication: a consumer is a replica that is not in sync.

The leader epoch of this replica is the highest leader epoch in which a leader served a fetch of the
consumer. The log of this replica has the records that the consumer received, all of them below the
replica's high watermark. So the spec rejects a run in which a consumer reads an uncommitted record,
and a run in which two consumers read different records at one offset.

Simplified: an end offset that a client receives must not be above the end of the committed records.
An end offset that is too low is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from model.language.interpreter import Cell, Value
from model.vocabulary import TopicPartition
from properties.refinement.behaviour import Behaviour, Call, as_int
from properties.refinement.log_entries import Messages, last_offset
from properties.refinement.trace_validation import ExpectedStep
from reference_impl.log.consecutive_batches import batches
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
)
from reference_impl.simulation.trace import Traced


@dataclass(slots=True)
class ConsumerReads:
    """The requests of consumers to one topic partition that have no response yet."""

    topic_partition: TopicPartition
    _served_in: dict[tuple[NodeId, int], int] = field(
        default_factory=dict[tuple[NodeId, int], int]
    )  # consumer and correlation -> leader epoch that served the request

    def fork(self) -> Self:
        return replace(self, _served_in=dict(self._served_in))

    def note_request(self, traced: Traced, replica: Leader | Follower | None) -> None:
        """Stores the leader epoch in which the leader received a consumer's request.

        `expected_step` needs this epoch when the response arrives. All other events are ignored.
        """
        match traced.event:
            case RequestReceived(
                consumer, correlation, Fetch(replica_id=-1) | ListOffsets() as request
            ) if request.topic_partition == self.topic_partition and isinstance(replica, Leader):
                self._served_in[consumer, correlation] = replica.state.leader_epoch
            case _:
                pass

    def expected_step(
        self,
        traced: Traced,
        behaviour: Behaviour,
        replicas: Mapping[NodeId, int],
        messages: Messages,
    ) -> ExpectedStep | None:
        """Returns the actions of the spec for the arrival of a response at a consumer.

        Returns None for any other event, and for a fetch response without records.
        """
        match traced.event:
            case ResponseReceived(
                correlation=correlation, response=Fetched(error=ErrorCode.NONE) as response
            ):
                epoch = self._served_in.pop((traced.node, correlation), None)
                is_here = response.topic_partition == self.topic_partition
                if epoch is not None and is_here and response.batches:
                    return _read(behaviour, messages, replicas[traced.node], epoch, response)
            case ResponseReceived(correlation=correlation, response=ListedOffsets(offset=end)):
                if self._served_in.pop((traced.node, correlation), None) is not None:
                    return ExpectedStep(calls=(), at_least={("committed_end", ()): end})
            case _:
                pass
        return None


def _read(
    behaviour: Behaviour, messages: Messages, c: int, leader_epoch: int, response: Fetched
) -> ExpectedStep:
    state = behaviour.state
    received = [e for batch in batches(response.batches) for e in messages.entries(batch)]
    held, end = as_int(state["replica.end_offset", (c,)]), received[-1].offset + 1
    calls = (
        [Call("become_follower", (c, leader_epoch))]
        if as_int(state["replica.leader_epoch", (c,)]) < leader_epoch
        else []
    )
    calls += [Call("fetch_response", (c, last_offset(o), o + 1)) for o in range(held, end)]
    if as_int(state["replica.high_watermark", (c,)]) < end:
        calls.append(Call("follower_high_watermark", (c, last_offset(end), end)))
    cells: dict[Cell, Value] = {}
    for offset, written_in, message in received:
        cells["replica.entry.leader_epoch", (c, offset)] = written_in
        cells["replica.entry.message", (c, offset)] = message
    return ExpectedStep(calls=tuple(calls), cells=cells)


def consumer_of(traced: Traced, topic_partition: TopicPartition) -> NodeId | None:
    """Returns the consumer whose fetch of this topic partition arrives at a broker in this event.
    Returns None if the event is no such arrival.
    """
    match traced.event:
        case RequestReceived(
            sender, request=Fetch(topic_partition=fetched, replica_id=replica)
        ) if fetched == topic_partition and replica < 0:
            return sender
        case _:
            return None
