"""A request for a busy transactional id gets CONCURRENT_TRANSACTIONS, with few exceptions.

The id is busy while its transaction is in the state PREPARE_COMMIT or PREPARE_ABORT. It is also
busy while the record of a change of the transaction is not replicated yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorRequest,
    EndTxn,
    TransactionVersion,
    TxnResult,
)
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TxnState
from tests.reference_impl.transactions.one_coordinator import (
    CLIENT,
    PRODUCER,
    A,
    B,
    answers,
    appended,
    at,
    loaded,
    metadata,
    replicated,
    replies,
)

NONE, BUSY = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
FENCED, UNMAPPED = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING
ADD = AddPartitionsToTxn(**PRODUCER, topic_partitions=(A,))
ADD_B = replace(ADD, topic_partitions=(B,))
VERIFY = replace(ADD, verify_only=True)
OTHER_EPOCH: dict[str, Any] = {"producer_epoch": ProducerEpoch(2)}
OTHER_ID: dict[str, Any] = {"producer_id": ProducerId(8)}
REQUESTS: dict[str, CoordinatorRequest] = {
    "a new instance": InitProducerId(transactional_id="t"),
    "the same instance": InitProducerId(**PRODUCER),
    "partitions": ADD,
    "offsets": AddOffsetsToTxn(**PRODUCER, group="g"),
    **{
        f"{result.name} {version.name}": EndTxn(**PRODUCER, result=result, version=version)
        for result in TxnResult
        for version in TransactionVersion
    },
}
requests = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)


def changing() -> TransactionCoordinator:
    """Returns a coordinator that is adding the partition B to an open transaction on A.

    The record of this change in the coordinator's log is not replicated yet.
    """
    coordinator, _ = loaded(metadata(TxnState.ONGOING, A))
    coordinator, effects = coordinator.on_request(at(correlation=5), CLIENT, ADD_B)
    assert appended(effects)
    return coordinator


@requests
@pytest.mark.parametrize("state", [TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT])
def test_a_request_in_a_prepared_state_must_wait(
    request_: CoordinatorRequest, state: TxnState
) -> None:
    """Kafka: TransactionMetadata.pendingTransitionInProgress, TransactionState.isPrepare."""
    coordinator, _ = loaded(metadata(state, A))
    assert answers(coordinator, request_) == [BUSY]


@requests
def test_a_request_while_a_change_is_appended_must_wait(request_: CoordinatorRequest) -> None:
    assert answers(changing(), request_) == [BUSY]
    ready, _ = replicated(changing())
    assert BUSY not in answers(ready, request_) or request_ == REQUESTS["a new instance"]


def test_a_verification_is_answered_while_a_change_is_appended() -> None:
    """A verification does not wait for a pending change; it ignores the change (KAFKA-14904).

    Kafka: TransactionCoordinator.handleVerifyPartitionsInTransaction.
    """
    assert answers(changing(), VERIFY) == [NONE]
    assert answers(changing(), replace(VERIFY, topic_partitions=(A, B))) == [
        ErrorCode.INVALID_TXN_STATE
    ]
    ready, _ = replicated(changing())
    assert answers(ready, replace(VERIFY, topic_partitions=(A, B))) == [NONE]


@pytest.mark.parametrize("state", [TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT])
def test_a_verification_in_a_prepared_state_rejects_a_wrong_producer_first(state: TxnState) -> None:
    """Kafka: TransactionCoordinator.handleVerifyPartitionsInTransaction."""
    coordinator, _ = loaded(metadata(state, A))
    assert answers(coordinator, VERIFY) == [BUSY]
    assert answers(coordinator, replace(VERIFY, **OTHER_ID)) == [UNMAPPED]
    assert answers(coordinator, replace(VERIFY, **OTHER_EPOCH)) == [FENCED]


@pytest.mark.parametrize("other", [OTHER_ID, OTHER_EPOCH], ids=["producer id", "epoch"])
@pytest.mark.parametrize("state", [TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT])
def test_only_an_end_in_v1_rejects_a_wrong_producer_before_it_waits(
    state: TxnState, other: dict[str, Any]
) -> None:
    coordinator, _ = loaded(metadata(state, A))
    refused = {
        name: answers(coordinator, replace(request, **other))
        for name, request in REQUESTS.items()
        if not isinstance(request, InitProducerId)
    }
    wrong = UNMAPPED if "producer_id" in other else FENCED
    assert refused == {name: [wrong if name.endswith("V1") else BUSY] for name in refused}


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE),
    ],
)
def test_a_failed_append_changes_nothing_and_its_request_gets_the_error(
    failure: ErrorCode, expected: ErrorCode
) -> None:
    """Kafka: TransactionStateManager.appendTransactionToLog."""
    before = changing()
    coordinator, effects = replicated(before, failure)
    assert [response.error for response in replies(effects)] == [expected]
    assert coordinator.transactions == before.transactions
    assert answers(coordinator, ADD_B) == []  # it may be sent again


def test_the_response_waits_for_the_append_and_an_unknown_append_answers_nobody() -> None:
    coordinator, effects = replicated(changing())
    assert [response.error for response in replies(effects)] == [NONE]
    assert coordinator.transactions["t"].topic_partitions == (A, B)
    assert coordinator.changes == {}


def test_waiting_requests_are_answered_when_another_coordinator_takes_over() -> None:
    effects = changing().resign()
    assert [response.error for response in replies(effects)] == [ErrorCode.NOT_COORDINATOR]
