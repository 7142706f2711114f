"""The requests that wait at a leader. They wait for replication, for data, or for the verification
of a transaction.

Source: docs/kafka-rules.md A1, A11, C1, D8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from model.vocabulary import Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.context import Requester
from reference_impl.node.step import Effects, Reply
from reference_impl.protocol.deletion import DeletedRecords
from reference_impl.protocol.messages import (
    NO_TIMESTAMP,
    UNKNOWN_OFFSET,
    ErrorCode,
    Fetch,
    Produce,
    Produced,
)
from reference_impl.protocol.transactions import (
    AddPartitionsToTxn,
    WriteTxnMarker,
    WrittenTxnMarker,
)


class LocalLog(Protocol):
    """A replica of a topic partition on this broker. Consumers may read its log. The replica is a
    leader or a follower.
    """

    @property
    def topic_partition(self) -> TopicPartition: ...

    @property
    def log(self) -> PartitionLog: ...

    @property
    def producers(self) -> ProducerStates: ...


class AppendOrigin(NamedTuple):
    """The sender of an append, and the values of its request that the response needs."""

    requester: Requester
    acks: int
    timeout_ms: int
    marker: WriteTxnMarker | None = None  # the request, if a transaction marker was appended
    append_time_ms: int = NO_TIMESTAMP  # of the response, as in `Produced`

    def reply(
        self,
        replica: LocalLog,
        *,
        error: ErrorCode = ErrorCode.NONE,
        base_offset: Offset = UNKNOWN_OFFSET,
    ) -> Reply:
        """Returns the response to the append. If an error occurs after the records were appended,
        the response also has `base_offset`.

        Kafka: DelayedProduce.
        """
        marker = self.marker
        if marker is not None:
            return self.requester.reply(
                WrittenTxnMarker(
                    topic_partition=marker.topic_partition,
                    transactional_id=marker.transactional_id,
                    error=error,
                )
            )
        log_start = UNKNOWN_OFFSET if base_offset == UNKNOWN_OFFSET else replica.log.log_start
        return self.requester.reply(
            Produced(
                error=error,
                base_offset=base_offset,
                log_start_offset=log_start,
                append_time_ms=self.append_time_ms,
            )
        )


class WaitingProduce(NamedTuple):
    """A Produce request with acks=all that waits until its records are replicated."""

    appended: AppendOrigin
    base_offset: Offset
    next_offset: Offset  # the high watermark has to reach it
    deadline_ms: int

    def reply(self, replica: LocalLog, error: ErrorCode) -> Reply:
        return self.appended.reply(replica, error=error, base_offset=self.base_offset)


class WaitingDeletion(NamedTuple):
    """A DeleteRecords request that waits for followers. The leader has raised its log start, but
    some live follower has not.
    """

    requester: Requester
    before: Offset  # the low watermark has to reach it
    deadline_ms: int

    def reply(
        self, replica: LocalLog, error: ErrorCode, low_watermark: Offset = UNKNOWN_OFFSET
    ) -> Reply:
        response = DeletedRecords(
            topic_partition=replica.topic_partition, error=error, low_watermark=low_watermark
        )
        return self.requester.reply(response)


class PendingVerification(NamedTuple):
    """The record batches of a producer that wait for the verification of their transaction."""

    # A transaction marker removes the guard, so that a positive response appends nothing
    # (KAFKA-14884), unless the request is about to be sent again: each request has its own guard.
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    correlation: int
    waiting: tuple[tuple[Requester, Produce], ...]
    deadline_ms: int
    question: AddPartitionsToTxn
    started_ms: int
    again_ms: int | None = None  # when the request is sent again; None while it is in flight
    is_guarded: bool = True


class WaitingFetch(NamedTuple):
    requester: Requester
    request: Fetch
    deadline_ms: int


def reject_unverified(entries: Iterable[PendingVerification], error: ErrorCode) -> Effects:
    return tuple(
        requester.reply(Produced(error=error))
        for entry in entries
        for requester, _ in entry.waiting
    )
