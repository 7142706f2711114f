"""The producer epochs of a transactional id. The module decides which producer instance may
continue, and with which epoch.

After an error, a producer instance may send its producer id and epoch to get a new epoch (KIP-360).
The request is rejected if a newer instance exists.

Source: KIP-98, KIP-360; TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka;
docs/kafka-rules.md D1.
"""

from __future__ import annotations

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH, InitProducerId
from reference_impl.transactions.metadata import LAST_EPOCH, TransactionMetadata, TxnState


def is_newest_instance(known: TransactionMetadata, request: InitProducerId) -> bool:
    """Returns True if the request comes from the newest instance of the producer, or from a new
    instance.

    A new instance sends no producer id. Any other request must have the present producer id of the
    transactional id. A retry with the previous producer id and its last epoch is accepted, too.
    Before the transactional id has its first epoch, every request is accepted.
    """
    # A new instance has no producer id; before the first epoch any request is accepted.
    if request.producer_id == NO_PRODUCER_ID or known.producer_epoch == NO_PRODUCER_EPOCH:
        return True
    # The request may be a retry with the previous producer id and its last epoch.
    is_before = (
        request.producer_id == known.previous_producer_id and request.producer_epoch >= LAST_EPOCH
    )
    return request.producer_id == known.producer_id or is_before


def next_instance(
    known: TransactionMetadata, request: InitProducerId, context: Context
) -> TransactionMetadata | None:
    """Returns the metadata for the next producer instance, or None if the request is fenced. If the
    request is a retry, the producer epoch does not change.

    The state of the metadata is always Empty, so the new instance cannot end an earlier
    transaction.

    Kafka: TransactionMetadata.prepareIncrementProducerEpoch and prepareProducerIdRotation.
    """
    requested, current = request.producer_epoch, known.producer_epoch
    if Bug.ZOMBIE_NOT_FENCED in context.bugs and current != NO_PRODUCER_EPOCH:
        return known
    is_new = request.producer_id == NO_PRODUCER_ID
    if is_new or requested == current or current == NO_PRODUCER_EPOCH:
        is_exhausted = current >= LAST_EPOCH
        return known.moved(
            TxnState.EMPTY,
            producer_id=context.new_producer_id if is_exhausted else known.producer_id,
            producer_epoch=ProducerEpoch(0 if is_exhausted else current + 1),
            last_producer_epoch=NO_PRODUCER_EPOCH if is_new else current,
            timeout_ms=request.timeout_ms,
        )
    if requested == known.last_producer_epoch:
        return known.moved(TxnState.EMPTY, timeout_ms=request.timeout_ms)
    return None
