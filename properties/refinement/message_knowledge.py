"""Checks that a broker knows about a topic partition only facts that messages brought to the
broker.

In the abstract specs, a node reads the state of other nodes directly. So these specs alone would
accept a leader that uses a fetch before the fetch arrives. Six rules prevent this:

- A broker has only partition states that the controller has decided.
- A leader knows the end offset of a follower only from a fetch that has arrived.
- A leader moves its high watermark at most to the lowest fetch offset in its *maximal ISR*. This
  set has the members of the ISR, and the replicas that the leader has proposed as members.
- Every record that a leader appends was in a request, with the same content.
- A response arrives only after its request has arrived.
- A log has no hole.

Source: the happened-before relation of Lamport; docs/kafka-rules.md A1, A4, A5.
Simplified: the records that a coordinator appends on its own broker are not checked, because no
message carries them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from model.vocabulary import BrokerId, Offset, TopicPartition
from properties.refinement.log_entries import SIGNED_FROM
from reference_impl.log.consecutive_batches import batches
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import AlteredPartition, PartitionState, UpdateMetadata
from reference_impl.protocol.messages import UNKNOWN_OFFSET, Fetch, NodeId, Produce
from reference_impl.simulation.trace import Traced

Replica = Leader | Follower


@dataclass(slots=True)
class RequestsReceived:
    """The requests that the nodes of the cluster have received so far in a run."""

    received: set[tuple[NodeId, NodeId, int]] = field(
        default_factory=set[tuple[NodeId, NodeId, int]]
    )

    def fork(self) -> Self:
        return replace(self, received=set(self.received))

    def violation(self, traced: Traced) -> str:
        """Returns an error text if a response arrives whose request has not arrived. Otherwise
        returns an empty text, and stores the request if the event is the arrival of a request.
        """
        match traced.event:
            case RequestReceived(sender, correlation):
                self.received.add((sender, traced.node, correlation))
            case ResponseReceived(sender, correlation):
                if (traced.node, sender, correlation) not in self.received:
                    return f"node {sender} has not received the request that it answers"
            case _:
                pass
        return ""


@dataclass(slots=True)
class MessageKnowledge:
    """The states that the controller has decided for one topic partition, so far in a run."""

    topic_partition: TopicPartition
    decided: set[PartitionState] = field(default_factory=set[PartitionState])

    def fork(self) -> Self:
        return replace(self, decided=set(self.decided))

    def violation(self, traced: Traced, before: Replica | None, after: Replica) -> str:
        """Returns a text about a change of the replica that no message explains. The text is empty
        if messages explain every change.
        """
        return next(self._violations(traced, before, after), "")

    def _violations(self, traced: Traced, before: Replica | None, after: Replica) -> Iterator[str]:
        if after.state not in self.decided:
            yield f"the controller did not decide {after.state}"
        if (before is None or before.state != after.state) and not _carries_state(traced):
            yield "the event carries no partition state"
        offsets = sum(b.header.next_offset - b.header.base_offset for b in after.log.batches())
        if offsets != _end(after) - after.log.log_start:
            yield "the log has a hole"
        if isinstance(after, Leader):
            yield from self._appended(traced, before, after)
            yield from self._counted(traced, before, after)

    def _appended(self, traced: Traced, before: Replica | None, after: Leader) -> Iterator[str]:
        match traced.event:
            case _ if before is None:
                return
            case RequestReceived(request=Fetch(topic_partition=self.topic_partition)) if _end(
                after
            ) != _end(before):
                yield "a fetch appended to the log that it reads"
            case RequestReceived(
                request=Produce(topic_partition=self.topic_partition, batches=sent)
            ):
                if not _new(before, after) <= _signed(batches(sent)):
                    yield "the appended records are not those in the request"
            case _:
                pass

    def _counted(self, traced: Traced, before: Replica | None, after: Leader) -> Iterator[str]:
        before_step = _remote_ends(before, after)
        for broker, end in _ends(after).items():
            is_unchanged = end in {before_step.get(broker, UNKNOWN_OFFSET), UNKNOWN_OFFSET}
            if not is_unchanged and not self._is_fetched(traced, broker, end):
                yield f"broker {broker} did not fetch at offset {end}"
        mark = after.log.high_watermark
        if before is not None and mark > before.log.high_watermark:
            for broker, end in _ends(after).items():
                if broker in after.in_sync.maximal and end < mark:
                    yield f"broker {broker} did not fetch at offset {mark}, the high watermark"

    def _is_fetched(self, traced: Traced, broker: BrokerId, end: Offset) -> bool:
        match traced.event:
            case RequestReceived(request=Fetch(topic_partition=self.topic_partition) as fetch):
                return (fetch.replica_id, fetch.fetch_offset) == (broker, end)
            case _:
                return False


def _carries_state(traced: Traced) -> bool:
    match traced.event:
        case (
            RequestReceived(request=UpdateMetadata())
            | ResponseReceived(response=AlteredPartition())
        ):
            return True
        case _:
            return False


def _remote_ends(before: Replica | None, after: Leader) -> Mapping[BrokerId, Offset]:
    if not isinstance(before, Leader) or before.state.leader_epoch != after.state.leader_epoch:
        return {}
    return _ends(before)


def _ends(leader: Leader) -> Mapping[BrokerId, Offset]:
    return {broker: remote.end_offset for broker, remote in leader.in_sync.remotes.items()}


def _end(replica: Replica) -> int:
    return replica.log.end_offset


def _new(before: Replica, after: Replica) -> set[bytes]:
    return _signed(b.data for b in after.log.batches() if b.header.next_offset > _end(before))


def _signed(data: Iterable[bytes]) -> set[bytes]:
    return {batch[SIGNED_FROM:] for batch in data}
