"""How two client libraries retry: the rules of a simulated producer after errors and time-outs.

Each line has a rule, and the functions of the Java client and of librdkafka that implement the
rule. A dash means that the Java client has no such function:

    rule                    Java                              librdkafka
    oldest_out_of_order     TransactionManager.canRetry       handle_idempotent_Produce_error
    later_out_of_order      TransactionManager.canRetry       idemp_drain_epoch_bump
    reads_in_order          -                                 broker_timeout_scan
    retries_when_drained    RecordAccumulator                 idemp_drain_toppar
                            .shouldStopDrainBatchesForPartition
    times_out_in_flight     Sender.getExpiredInflightBatches  msgq_age_scan
    new_epoch               TransactionManager                idemp_drain_done
                            .maybeResolveSequences
    always_takes_new_epoch  the same                          toppar_producer_serve
    acknowledges_earlier    -                                 dr_implicit_ack
    knows_unwritten         -                                 handle_Produce_error

The names of librdkafka's functions begin with `rd_kafka_`.

Source: TransactionManager.canRetry and TransactionManager.maybeResolveSequences;
RecordAccumulator.shouldStopDrainBatchesForPartition; Sender.getExpiredInflightBatches; librdkafka
2.15, src/rdkafka_request.c, rdkafka_broker.c, rdkafka_idempotence.c, rdkafka_msg.c.
Simplified: the real Java client also reads responses in order, but not by a function of its own. If
its connection closes, it loses all requests in flight on the connection. The simulated Java client
neither reads responses in order nor loses all these requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from reference_impl.protocol.messages import RETRIABLE, ErrorCode

# Errors after which the record is certainly not in the log, unless an earlier attempt wrote it.
NOT_WRITTEN: Final = frozenset({
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_RECORD,
})  # fmt: skip
# Errors after which the leader may have written the record.
MAY_BE_WRITTEN: Final = frozenset({
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
})  # fmt: skip


class Follows(Enum):
    """The reaction of a producer to an error response for a batch."""

    RETRY = auto()  # the batch keeps its sequence numbers
    END = auto()  # the producer sends nothing more
    NEW_EPOCH = auto()  # every open batch is numbered again, under the next epoch
    NEW_EPOCH_LATER = auto()  # the same, at the moment that the rule `new_epoch` names
    NEW_PRODUCER = auto()  # open batches end, and the application creates another producer


class Moment(Enum):
    """The moment at which a producer takes its next epoch, if it needs a new epoch."""

    DECIDED = auto()  # no batch is open: each was acknowledged or given up
    DRAINED = auto()  # no request is in flight; batches that wait for a retry are numbered again
    AT_ONCE = auto()  # wrong: a request in flight may still be applied under the old epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    oldest_out_of_order: Follows
    later_out_of_order: Follows = Follows.RETRY
    # A response is read after those of earlier requests. The first request without one closes the
    # connection, so all requests in flight fail.
    reads_in_order: bool = False
    # Retries wait until no request is in flight, and then follow each other without waiting.
    # Otherwise the oldest batch is retried at once, and the next one after its acknowledgement.
    retries_when_drained: bool = False
    times_out_in_flight: bool = True  # the delivery timeout also ends batches in flight
    new_epoch: Moment = Moment.DECIDED
    # After a delivery timeout; otherwise only if the last sequence number is not acknowledged.
    always_takes_new_epoch: bool = False
    # An acknowledged batch proves that the earlier ones are in the log.
    acknowledges_earlier: bool = False
    # A send that times out has failed if no attempt can have written it.
    knows_unwritten: bool = False

    def after(self, error: ErrorCode, *, is_oldest: bool, retries: bool) -> Follows:
        """Returns the producer's reaction to an error response for a batch.

        `is_oldest` is True if the batch is the oldest open batch. `retries` is True if the producer
        is configured to retry.
        """
        if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and (is_oldest or retries):
            return self.oldest_out_of_order if is_oldest else self.later_out_of_order
        return Follows.RETRY if retries and error in RETRIABLE else Follows.END


PLAIN: Final = Library(oldest_out_of_order=Follows.END)
JAVA: Final = Library(oldest_out_of_order=Follows.NEW_EPOCH)
LIBRDKAFKA: Final = Library(
    oldest_out_of_order=Follows.NEW_PRODUCER,
    later_out_of_order=Follows.NEW_EPOCH_LATER,
    reads_in_order=True,
    retries_when_drained=True,
    times_out_in_flight=False,
    new_epoch=Moment.DRAINED,
    always_takes_new_epoch=True,
    acknowledges_earlier=True,
    knows_unwritten=True,
)
