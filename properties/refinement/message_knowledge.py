"""What a broker may know of a topic partition: what it has heard, and what was decided.

The abstract specs let a node look at what others did, however late: that a follower has a record
is known where it has it. So they go along with a leader that counts on a fetch before the fetch
arrives. These are the bounds that messages set:

    a partition state    one that the controller has decided
    a follower's end     the offset of a fetch of that follower, from the moment that it arrives
    a high watermark     moves to where the leader has heard that all it waits for are
    a record             appended by a leader as a request to it carries it
    an answer            comes behind its question
    a log                nothing is deleted from its middle

Source: the happened-before relation of Lamport; protocol rules A1, A4, A5.
Simplified: what a coordinator appends on its own broker is in no message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from model.vocabulary import BrokerId, Offset, TopicPartition
from properties.refinement.log_entries import SIGNED_FROM
from reference_impl.log.record_batch import batches
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import AlteredPartition, PartitionState, UpdateMetadata
from reference_impl.protocol.messages import UNKNOWN_OFFSET, Fetch, NodeId, Produce
from reference_impl.simulation.trace import Traced

Replica = Leader | Follower


@dataclass(slots=True)
class RequestsReceived:
    """Who has been asked what, in the whole cluster."""

    heard: set[tuple[NodeId, NodeId, int]] = field(default_factory=set[tuple[NodeId, NodeId, int]])

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(self, heard=set(self.heard))

    def violation(self, traced: Traced) -> str:
        """Why this is no answer that could arrive by now; empty if it is none, or could."""
        match traced.event:
            case RequestReceived(sender, correlation):
                self.heard.add((sender, traced.node, correlation))
            case ResponseReceived(sender, correlation):
                if (traced.node, sender, correlation) not in self.heard:
                    return f"node {sender} has not heard yet what it answers"
            case _:
                pass
        return ""


@dataclass(slots=True)
class MessageKnowledge:
    """What may be known of one topic partition by now."""

    topic_partition: TopicPartition
    decided: set[PartitionState] = field(default_factory=set[PartitionState])

    def fork(self) -> Self:
        """The same, to go on in another way."""
        return replace(self, decided=set(self.decided))

    def violation(self, traced: Traced, before: Replica | None, after: Replica) -> str:
        """What the broker has no reason to believe or to do; empty if there is no such thing."""
        return next(self._doubts(traced, before, after), "")

    def _doubts(self, traced: Traced, before: Replica | None, after: Replica) -> Iterator[str]:
        if after.state not in self.decided:
            yield f"nobody decided {after.state}"
        if (before is None or before.state != after.state) and not _tells_state(traced):
            yield "such an event tells no partition state"
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
                yield "a fetch appends nothing to the log that it reads"
            case RequestReceived(
                request=Produce(topic_partition=self.topic_partition, batches=sent)
            ):
                if not _new(before, after) <= _signed(batches(sent)):
                    yield "the records are not those that were sent"
            case _:
                pass

    def _counted(self, traced: Traced, before: Replica | None, after: Leader) -> Iterator[str]:
        """Fetches that the leader did not hear, and a high watermark above what it did hear."""
        known = _remote_ends(before, after)
        for broker, end in _ends(after).items():
            is_known = end in {known.get(broker, UNKNOWN_OFFSET), UNKNOWN_OFFSET}
            if not is_known and not self._is_said(traced, broker, end):
                yield f"broker {broker} did not say that it has {end} records"
        mark = after.log.high_watermark
        if before is not None and mark > before.log.high_watermark:
            for broker, end in _ends(after).items():
                if broker in after.in_sync.maximal and end < mark:
                    yield f"broker {broker} did not say that it has {mark} records"

    def _is_said(self, traced: Traced, broker: BrokerId, end: Offset) -> bool:
        match traced.event:
            case RequestReceived(request=Fetch(topic_partition=self.topic_partition) as fetch):
                return (fetch.replica_id, fetch.fetch_offset) == (broker, end)
            case _:
                return False


def _tells_state(traced: Traced) -> bool:
    match traced.event:
        case (
            RequestReceived(request=UpdateMetadata())
            | ResponseReceived(response=AlteredPartition())
        ):
            return True
        case _:
            return False


def _remote_ends(before: Replica | None, after: Leader) -> Mapping[BrokerId, Offset]:
    """How far the leader knew its followers to be, in this leader epoch."""
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
