"""The instances of a transactional id: which may go on, and under which producer epoch.

Each instance gets the next epoch, so every earlier one is fenced. One that tells who it was goes on
after an error of its own (KIP-360); it is refused when it was not the newest.

Source: KIP-98, KIP-360; protocol rules D1.
"""

from __future__ import annotations

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH, InitProducerId
from reference_impl.transactions.metadata import LAST_EPOCH, TransactionMetadata, TxnState


def is_newest_instance(known: TransactionMetadata, request: InitProducerId) -> bool:
    """A producer that tells who it was is the newest one, or was before its epochs ran out."""
    if request.producer_id == NO_PRODUCER_ID or known.producer_epoch == NO_PRODUCER_EPOCH:
        return True
    is_before = (
        request.producer_id == known.previous_producer_id and request.producer_epoch >= LAST_EPOCH
    )
    return request.producer_id == known.producer_id or is_before


def next_instance(
    known: TransactionMetadata, request: InitProducerId, context: Context
) -> TransactionMetadata | None:
    """The next instance; the same state for a retry, None for an instance that is fenced."""
    told, current = request.producer_epoch, known.producer_epoch
    is_first = request.producer_id == NO_PRODUCER_ID or current == NO_PRODUCER_EPOCH
    if Bug.ZOMBIE_NOT_FENCED in context.bugs and current != NO_PRODUCER_EPOCH:
        return known
    if current >= LAST_EPOCH and (is_first or told == current):
        return known.moved(
            TxnState.EMPTY,
            producer_id=context.new_producer_id,
            previous_producer_id=known.producer_id,
            producer_epoch=ProducerEpoch(0),
            last_producer_epoch=NO_PRODUCER_EPOCH,
            timeout_ms=request.timeout_ms,
        )
    if is_first or told == current:
        return known.moved(
            TxnState.EMPTY,
            producer_epoch=ProducerEpoch(current + 1),
            last_producer_epoch=NO_PRODUCER_EPOCH if is_first else current,
            timeout_ms=request.timeout_ms,
        )
    return known if told == known.last_producer_epoch else None
