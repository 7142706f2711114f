"""A coordinator handles late, lost and wrong responses to its markers, and missing leaders."""

from __future__ import annotations

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.transactions import WrittenTxnMarker
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TxnState
from tests.reference_impl.transactions.one_coordinator import (
    LEADERS,
    A,
    B,
    appended,
    at,
    loaded,
    markers,
    metadata,
    replicated,
    written,
)

TIMEOUT_MS = BrokerSettings().request_timeout_ms
RETRIABLE = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
]


def committing(*places: TopicPartition) -> TransactionCoordinator:
    """Returns a coordinator that has sent the markers of a commit as request 1."""
    coordinator, effects = loaded(metadata(TxnState.PREPARE_COMMIT, *places))
    assert len(markers(effects)) == len(places)
    return coordinator


def sent_again(
    coordinator: TransactionCoordinator, now_ms: int, correlation: int
) -> tuple[TransactionCoordinator, list[TopicPartition]]:
    coordinator, effects = coordinator.on_timer(at(now_ms, correlation))
    return coordinator, [marker.topic_partition for _, marker in markers(effects)]


def test_the_commit_completes_with_the_last_marker() -> None:
    coordinator, effects = written(committing(A, B), B, correlation=1)
    assert appended(effects) == []
    coordinator, effects = written(coordinator, B, correlation=1)  # the same response twice
    assert appended(effects) == []
    coordinator, effects = written(coordinator, A, correlation=1)
    assert len(appended(effects)) == 1
    coordinator, effects = coordinator.on_timer(at(TIMEOUT_MS, 60))
    assert appended(effects) == []  # the first append is still on its way


def test_a_late_response_to_an_earlier_attempt_is_ignored() -> None:
    """Only the response to the last attempt counts; a late response changes nothing.

    A late error is ignored, too, because the last attempt may still write the marker.

    Kafka: TransactionMarkerChannelManager.
    """
    coordinator, places = sent_again(committing(A), TIMEOUT_MS + 1, correlation=20)
    assert places == [A]
    for late in (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, *RETRIABLE):
        after, effects = written(coordinator, A, correlation=1, error=late)
        assert (after, effects) == (coordinator, ())
    _, effects = written(coordinator, A, correlation=20)
    assert len(appended(effects)) == 1


def test_a_response_for_another_transaction_or_partition_is_ignored() -> None:
    coordinator = committing(A)
    assert written(coordinator, B, correlation=1) == (coordinator, ())
    answer = WrittenTxnMarker(topic_partition=A, transactional_id="u")
    assert coordinator.on_marker_response(at(), 1, answer) == (coordinator, ())
    complete, _ = loaded(metadata(TxnState.COMPLETE_COMMIT))
    assert written(complete, A, correlation=1) == (complete, ())


@pytest.mark.parametrize("error", RETRIABLE)
def test_a_marker_that_a_leader_refuses_is_sent_again_by_the_timer(error: ErrorCode) -> None:
    """Kafka: TransactionMarkerRequestCompletionHandler.onComplete."""
    coordinator, effects = written(committing(A, B), A, correlation=1, error=error)
    assert (markers(effects), appended(effects)) == ([], [])
    coordinator, places = sent_again(coordinator, 10, correlation=20)
    assert places == [A]  # the other one has time left
    coordinator, _ = written(coordinator, B, correlation=1)
    _, effects = written(coordinator, A, correlation=20)
    assert len(appended(effects)) == 1


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_coordinator_that_is_replaced_neither_sends_nor_completes(error: ErrorCode) -> None:
    """Kafka: TransactionMarkerRequestCompletionHandler.onComplete, `abortSending`."""
    coordinator, effects = written(committing(A, B), A, correlation=1, error=error)
    assert (markers(effects), appended(effects)) == ([], [])
    coordinator, places = sent_again(coordinator, 2 * TIMEOUT_MS, correlation=20)
    assert places == []
    assert written(coordinator, B, correlation=1) == (coordinator, ())


def test_a_marker_is_lost_after_the_request_timeout_and_not_before() -> None:
    _, places = sent_again(committing(A, B), TIMEOUT_MS, correlation=20)
    assert places == []
    coordinator, _ = written(committing(A, B), B, correlation=1)
    coordinator, places = sent_again(coordinator, TIMEOUT_MS + 1, correlation=20)
    assert places == [A]
    _, places = sent_again(coordinator, 2 * TIMEOUT_MS + 1, correlation=21)
    assert places == []  # the second attempt has a timeout of its own


def test_a_marker_waits_for_a_leader_and_not_for_a_deleted_topic() -> None:
    without_leader = {**LEADERS, A: BrokerId(NO_BROKER)}
    prepared = metadata(TxnState.PREPARE_ABORT, A, B)
    coordinator, effects = loaded(prepared, context=at(leaders=without_leader))
    assert [to for to, _ in markers(effects)] == [3]
    coordinator, effects = written(
        coordinator, B, correlation=1, context=at(correlation=50, leaders=without_leader)
    )
    assert appended(effects) == []
    _, places = sent_again(coordinator, 1, correlation=20)
    assert places == [A]
    deleted = {place: leader for place, leader in LEADERS.items() if place != A}
    _, effects = coordinator.on_timer(at(1, 20, deleted))
    assert (markers(effects), len(appended(effects))) == ([], 1)


def test_a_failed_completion_is_tried_again() -> None:
    coordinator, _ = written(committing(A), A, correlation=1)
    coordinator, effects = replicated(coordinator, ErrorCode.NOT_ENOUGH_REPLICAS)
    assert coordinator.transactions["t"].state is TxnState.PREPARE_COMMIT
    coordinator, effects = coordinator.on_timer(at(1, 60))
    assert (markers(effects), len(appended(effects))) == ([], 1)
    coordinator, _ = replicated(coordinator)
    assert coordinator.transactions["t"].state is TxnState.COMPLETE_COMMIT
    assert coordinator.markers == {}
