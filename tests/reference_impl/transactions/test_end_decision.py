"""In transaction version 2, an EndTxn with the previous producer epoch is a retry.

The retry must ask for the result with which the last transaction ended: commit or abort. If the end
of the transaction changed the producer id, the previous epoch is the last epoch of the former id.

Kafka: TransactionCoordinator.endTransaction, `retryOnEpochBump` and `retryOnOverflow`.
"""

from __future__ import annotations

import pytest

from model.vocabulary import ProducerEpoch, ProducerId
from reference_impl.node.bugs import NO_BUGS
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.transactions import EndTxn, TransactionVersion, TxnResult
from reference_impl.transactions.end_txn import EndDecision, end_decision, end_response
from reference_impl.transactions.metadata import LAST_EPOCH, TxnState
from tests.reference_impl.transactions.one_coordinator import metadata

COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
PREPARE, RETRY = EndDecision.PREPARE, EndDecision.ALREADY_COMPLETE
FENCED, UNMAPPED = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING
INVALID = ErrorCode.INVALID_TXN_STATE


def end(
    producer: tuple[int, int],
    result: TxnResult = COMMIT,
    version: TransactionVersion = TransactionVersion.V2,
) -> EndTxn:
    return EndTxn(
        transactional_id="t",
        producer_id=ProducerId(producer[0]),
        producer_epoch=ProducerEpoch(producer[1]),
        result=result,
        version=version,
    )


@pytest.mark.parametrize(
    ("state", "request_", "decision"),
    [
        (TxnState.COMPLETE_COMMIT, end((7, 2)), RETRY),
        (TxnState.COMPLETE_COMMIT, end((7, 2), ABORT), INVALID),
        (TxnState.COMPLETE_ABORT, end((7, 2), ABORT), RETRY),
        (TxnState.COMPLETE_ABORT, end((7, 2)), INVALID),
        (TxnState.COMPLETE_COMMIT, end((7, 3), ABORT), PREPARE),  # an empty transaction
        (TxnState.COMPLETE_COMMIT, end((7, 3)), INVALID),
        (TxnState.COMPLETE_ABORT, end((7, 3), ABORT), PREPARE),
        (TxnState.COMPLETE_ABORT, end((7, 3)), INVALID),
        (TxnState.COMPLETE_COMMIT, end((7, 1)), FENCED),
        (TxnState.COMPLETE_COMMIT, end((7, 4)), FENCED),
        (TxnState.COMPLETE_COMMIT, end((9, 2)), UNMAPPED),
        (TxnState.ONGOING, end((7, 3)), PREPARE),
        (TxnState.ONGOING, end((7, 2)), FENCED),  # the transaction before is over
        (TxnState.EMPTY, end((7, 2)), FENCED),
        (TxnState.EMPTY, end((7, 3), ABORT), PREPARE),
        (TxnState.EMPTY, end((7, 3)), INVALID),
        (TxnState.COMPLETE_COMMIT, end((7, 2), version=TransactionVersion.V1), FENCED),
    ],
)
def test_an_end_with_the_epoch_before_is_a_retry(
    state: TxnState, request_: EndTxn, decision: EndDecision | ErrorCode
) -> None:
    assert end_decision(metadata(state), request_, NO_BUGS, is_busy=False) is decision


@pytest.mark.parametrize(
    ("state", "result", "decision"),
    [
        (TxnState.ONGOING, COMMIT, PREPARE),
        (TxnState.ONGOING, ABORT, PREPARE),
        (TxnState.COMPLETE_COMMIT, COMMIT, RETRY),
        (TxnState.COMPLETE_COMMIT, ABORT, INVALID),
        (TxnState.COMPLETE_ABORT, ABORT, RETRY),
        (TxnState.COMPLETE_ABORT, COMMIT, INVALID),
        (TxnState.EMPTY, COMMIT, INVALID),
        (TxnState.EMPTY, ABORT, INVALID),
    ],
)
def test_in_v1_an_end_with_the_present_epoch_may_be_a_retry(
    state: TxnState, result: TxnResult, decision: EndDecision | ErrorCode
) -> None:
    """Kafka: TransactionCoordinator.endTransactionWithTV1."""
    request = end((7, 3), result, TransactionVersion.V1)
    assert end_decision(metadata(state), request, NO_BUGS, is_busy=False) is decision


@pytest.mark.parametrize(
    ("epoch", "request_", "decision"),
    [
        (0, end((6, LAST_EPOCH)), RETRY),
        (0, end((6, LAST_EPOCH), ABORT), INVALID),
        (0, end((6, LAST_EPOCH - 1)), UNMAPPED),
        (0, end((5, LAST_EPOCH)), UNMAPPED),
        (1, end((6, LAST_EPOCH)), UNMAPPED),  # the new producer id has been used
        (0, end((6, LAST_EPOCH), version=TransactionVersion.V1), UNMAPPED),
    ],
)
def test_an_end_with_the_last_epoch_of_the_former_producer_id_is_a_retry(
    epoch: int, request_: EndTxn, decision: EndDecision | ErrorCode
) -> None:
    known = metadata(
        TxnState.COMPLETE_COMMIT, producer_epoch=epoch, previous_producer_id=ProducerId(6)
    )
    assert end_decision(known, request_, NO_BUGS, is_busy=False) is decision
    answer = end_response(known, request_)
    if request_.version is TransactionVersion.V2:
        assert (answer.producer_id, answer.producer_epoch) == (7, epoch)
    else:
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
