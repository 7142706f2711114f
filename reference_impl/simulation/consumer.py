"""A simulated consumer that reads one topic partition, and sometimes requests the end offset.

A fetch becomes an operation of the history only if the response has records. After the error
OFFSET_OUT_OF_RANGE, the consumer goes back to the log start, and the history records this reset.

Source: docs/kafka-rules.md A2, A7.
Simplified: the consumer has no group and no committed offsets. It sends no leader epoch, and does
not validate its position (KIP-320).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from model.histories import EndOffset, MicroOperation, Operation, Outcome, Poll
from model.vocabulary import Offset
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import decode, header
from reference_impl.node.step import Input, ResponseReceived, Send, TimerFired
from reference_impl.protocol.controller import DescribedMetadata, Metadata
from reference_impl.protocol.messages import (
    NO_BROKER,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
)
from reference_impl.simulation.clients import (
    NS_PER_MS,
    ClientEffects,
    Leadership,
    Observed,
    next_tick,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRead:
    """A request of a consumer that has no response yet: a fetch, or a request for the end
    offset.
    """

    correlation: int
    f: str
    invoked_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    client_id: NodeId
    process: int
    leadership: Leadership
    end_offset_every: int = 0  # in polls; also once at first; 0: never
    request_timeout_ms: int = 300
    wait_ms: int = 50  # max_wait_ms of each fetch
    position: Offset = Offset(0)  # noqa: RUF009 - an int by another name
    end_offset: Offset | None = None  # the last one received
    pending: PendingRead | None = None
    polls: int = 0
    end_offset_requests: int = 0
    correlation: int = 0

    def step(self, now_ns: int, event: Input) -> tuple[Consumer, ClientEffects]:
        match event:
            case TimerFired():
                consumer, ended = self._without_timed_out(now_ns)
                consumer, sent = consumer._request(now_ns)
                return consumer, (*ended, *sent, next_tick(now_ns))
            case ResponseReceived(response=DescribedMetadata(image=image)):
                knows = replace(self, leadership=self.leadership.learn(image))
                # Without a leader, the next tick requests metadata again.
                return (
                    knows._request(now_ns) if knows.leadership.leader != NO_BROKER else (knows, ())
                )
            case ResponseReceived(correlation=correlation, response=response):
                if self.pending is None or self.pending.correlation != correlation:
                    return self, ()  # the response to a request that has timed out
                match response:
                    case Fetched():
                        return self._fetched(now_ns, response)
                    case ListedOffsets():
                        return self._listed(now_ns, response)
                    case _:
                        return self, ()
            case _:
                return self, ()

    def unfinished(self) -> tuple[Operation, ...]:
        """Returns (), because the history contains no read without a response."""
        return ()

    @property
    def at_end(self) -> bool:
        return self.end_offset is not None and self.position >= self.end_offset

    def _request(self, now_ns: int) -> tuple[Consumer, ClientEffects]:
        if self.pending is not None:
            return self, ()
        consumer = replace(self, correlation=self.correlation + 1)
        if self.leadership.leader == NO_BROKER:
            leadership, broker = self.leadership.next_broker()
            return replace(consumer, leadership=leadership), (
                Send(broker, self.correlation, Metadata()),
            )
        due = (
            self.end_offset_every and self.end_offset_requests * self.end_offset_every <= self.polls
        )
        f = "end_offset" if due else "poll"
        pending = PendingRead(correlation=self.correlation, f=f, invoked_ns=now_ns)
        topic_partition = self.leadership.topic_partition
        request = (
            ListOffsets(topic_partition=topic_partition)
            if due
            else Fetch(
                topic_partition=topic_partition,
                fetch_offset=self.position,
                max_wait_ms=self.wait_ms,
            )
        )
        leader = NodeId(self.leadership.leader)
        return replace(consumer, pending=pending), (Send(leader, self.correlation, request),)

    def _fetched(self, now_ns: int, fetched: Fetched) -> tuple[Consumer, ClientEffects]:
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            reset = self._observed(now_ns, "fail", (), error=fetched.error.name, f="assign")
            back = replace(self, pending=None, position=Offset(max(0, fetched.log_start_offset)))
            return back, (reset,)
        if fetched.error is not ErrorCode.NONE:
            return self._refreshing_leader()
        key = str(self.leadership.topic_partition)
        polled: list[MicroOperation] = []
        position = self.position
        for batch in batches(fetched.batches):
            for offset, record in decode(batch):
                if offset >= self.position:
                    polled.append(Poll(key, offset, (record.value or b"").decode()))
            position = max(position, header(batch).next_offset)
        consumer = replace(self, pending=None, position=position, polls=self.polls + 1)
        consumer, sent = consumer._request(now_ns)
        observed = (self._observed(now_ns, "ok", tuple(polled)),) if polled else ()
        return consumer, observed + sent

    def _listed(self, now_ns: int, listed: ListedOffsets) -> tuple[Consumer, ClientEffects]:
        if listed.error is not ErrorCode.NONE:
            return self._refreshing_leader()
        key = str(self.leadership.topic_partition)
        observed = self._observed(now_ns, "ok", (EndOffset(key, listed.offset),))
        consumer = replace(
            self,
            pending=None,
            end_offset=listed.offset,
            end_offset_requests=self.end_offset_requests + 1,
        )
        consumer, sent = consumer._request(now_ns)
        return consumer, (observed, *sent)

    def _without_timed_out(self, now_ns: int) -> tuple[Consumer, ClientEffects]:
        timeout_ns = self.request_timeout_ms * NS_PER_MS
        if self.pending is None or now_ns - self.pending.invoked_ns < timeout_ns:
            return self, ()
        return self._refreshing_leader()

    def _refreshing_leader(self) -> tuple[Consumer, ClientEffects]:
        leadership = replace(self.leadership, leader=NO_BROKER)
        return replace(self, pending=None, leadership=leadership), ()

    def _observed(
        self,
        now_ns: int,
        outcome: Outcome,
        did: tuple[MicroOperation, ...],
        *,
        error: str | None = None,
        f: str | None = None,
    ) -> Observed:
        assert self.pending is not None
        return Observed(
            Operation(
                process=self.process,
                f=f or self.pending.f,
                outcome=outcome,
                invoked_ns=self.pending.invoked_ns,
                completed_ns=now_ns,
                did=did,
                error=error,
            )
        )
