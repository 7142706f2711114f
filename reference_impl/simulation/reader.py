"""A simulated program's reader of one topic partition, with a position and an isolation level.

The history records a poll only if the poll returns records.

Source: KIP-98, "Reading transactional messages"; docs/kafka-rules.md A2, A7.
Simplified: a reader has one topic partition. Its fetches have no leader epoch (KIP-320).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.histories import EndOffset, Isolation, Poll
from model.vocabulary import Offset, TopicPartition
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import decode, header
from reference_impl.log.transaction_marker import read
from reference_impl.protocol.messages import (
    EARLIEST_TIMESTAMP,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
)
from reference_impl.protocol.transactions import TxnResult
from reference_impl.simulation.broker_client import BrokerClient, error_of
from reference_impl.simulation.programs import Application, Steps

WAIT_MS: Final = 50


@dataclass(slots=True, kw_only=True)
class Reader:
    app: Application
    brokers: BrokerClient
    topic_partition: TopicPartition
    isolation: Isolation = "read_committed"
    group: str | None = None  # the group of which it is a member
    position: Offset = Offset(0)  # noqa: RUF009 - an int by another name

    def poll(self) -> Steps[tuple[Poll, ...]]:
        """Fetches at the position, and returns the records that are visible at the reader's
        isolation level.

        The result is () after an error. After OFFSET_OUT_OF_RANGE, the position becomes the log
        start offset.
        """
        self.app.begin("poll", group=self.group, isolation=self.isolation)
        answer = yield from self._fetch()
        polled = self._visible_records(answer)
        if polled:
            self.app.end("ok", *polled)
        else:
            # Only a poll with records is an operation of the history.
            self.app.drop()
        # The position becomes the log start, and the history records this reset.
        if answer.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self.app.begin("assign")
            self.app.end("fail", error=answer.error.name)
            self.position = yield from self._log_start(answer)
        elif answer.error is not ErrorCode.NONE:
            yield from self.brokers.refresh_leader()
        return polled

    def poll_in_transaction(self) -> Steps[tuple[Poll, ...]]:
        """Fetches at the position, and returns the visible records as `poll` does. The result is ()
        after an error.

        In the history, the poll is a part of the transaction in progress.
        """
        answer = yield from self._fetch()
        polled = self._visible_records(answer)
        self.app.does(*polled)
        if answer.error is not ErrorCode.NONE:
            yield from self.brokers.refresh_leader()
        return polled

    def _fetch(self) -> Steps[Fetched]:
        request = Fetch(
            topic_partition=self.topic_partition,
            fetch_offset=self.position,
            max_wait_ms=WAIT_MS,
            read_committed=self.isolation == "read_committed",
        )
        answer = yield from self.brokers.call_leader(self.topic_partition, request, attempts=1)
        if isinstance(answer, Fetched):
            return answer
        return Fetched(topic_partition=self.topic_partition, error=error_of(answer))

    def _log_start(self, answer: Fetched) -> Steps[Offset]:
        if answer.log_start_offset >= 0:
            return answer.log_start_offset
        # As in Kafka, the error response may lack this offset.
        request = ListOffsets(topic_partition=self.topic_partition, timestamp=EARLIEST_TIMESTAMP)
        listed = yield from self.brokers.call_leader(self.topic_partition, request)
        if isinstance(listed, ListedOffsets) and listed.error is ErrorCode.NONE:
            return listed.offset
        return self.position

    def end_offset(self) -> Steps[Offset]:
        """Returns the end offset for the reader's isolation level, or -1 after an error."""
        self.app.begin("end_offset", isolation=self.isolation)
        request = ListOffsets(
            topic_partition=self.topic_partition,
            read_committed=self.isolation == "read_committed",
        )
        answer = yield from self.brokers.call_leader(self.topic_partition, request)
        assert isinstance(answer, ListedOffsets), answer
        if error_of(answer) is not ErrorCode.NONE:
            self.app.end("fail", error=answer.error.name)
            return Offset(-1)
        self.app.end("ok", EndOffset(str(self.topic_partition), answer.offset))
        return answer.offset

    def read_to_end(self) -> Steps[tuple[Poll, ...]]:
        end = yield from self.end_offset()
        found: tuple[Poll, ...] = ()
        while self.position < end:
            found += yield from self.poll()
        return found

    def _visible_records(self, answer: Fetched) -> tuple[Poll, ...]:
        if answer.error is not ErrorCode.NONE:
            return ()
        waiting = sorted(answer.aborted, key=lambda aborted: -aborted.first_offset)
        aborted: set[int] = set()
        found: list[Poll] = []
        for batch in batches(answer.batches):
            head = header(batch)
            while waiting and waiting[-1].first_offset <= head.last_offset:
                aborted.add(waiting.pop().producer_id)
            if head.is_control:
                if read(batch).result is TxnResult.ABORT:
                    aborted.discard(head.producer_id)
            elif not (head.is_transactional and head.producer_id in aborted):
                found += (
                    Poll(str(self.topic_partition), offset, (record.value or b"").decode())
                    for offset, record in decode(batch)
                    if offset >= self.position
                )
            self.position = max(self.position, head.next_offset)
        return tuple(found)
