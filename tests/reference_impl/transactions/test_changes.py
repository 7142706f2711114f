"""Each request changes the transaction's metadata, which the coordinator appends to its log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import ErrorCode, InitializedProducerId, InitProducerId
from reference_impl.transactions.changes import change_by_time
from reference_impl.transactions.metadata import (
    COMPLETED,
    PREPARED,
    TransactionMetadata,
    TxnState,
)
from tests.reference_impl.transactions.one_coordinator import (
    CLIENT,
    A,
    appended,
    at,
    loaded,
    metadata,
    replicated,
    replies,
)

NEW_INSTANCE = InitProducerId(transactional_id="t")
OLD_INSTANCE = replace(NEW_INSTANCE, producer_id=ProducerId(7), producer_epoch=ProducerEpoch(1))


def record_of(
    state: TxnState, request: InitProducerId = NEW_INSTANCE
) -> tuple[TransactionMetadata, list[Any]]:
    """Sends the InitProducerId request. Returns the transaction metadata that the coordinator
    appends, and its responses.

    `state` is the state of the transactional id before the request.
    """
    coordinator, _ = loaded(metadata(state, A))
    coordinator, effects = coordinator.on_request(at(correlation=5), CLIENT, request)
    (entry,) = appended(effects)
    return TransactionMetadata.of(entry), replies(replicated(coordinator)[1])


@pytest.mark.parametrize("instance", [NEW_INSTANCE, OLD_INSTANCE])
def test_a_new_or_old_instance_first_aborts_the_open_transaction(instance: InitProducerId) -> None:
    """The transaction is aborted even if the instance is old. It is fenced when it retries.

    Kafka: TransactionCoordinator.prepareInitProducerIdTransit.
    """
    record, answers = record_of(TxnState.ONGOING, instance)
    assert (record.state, record.topic_partitions) == (TxnState.PREPARE_ABORT, (A,))
    assert (record.producer_epoch, record.last_producer_epoch) == (4, 3)
    assert answers == [InitializedProducerId(error=ErrorCode.CONCURRENT_TRANSACTIONS)]


@pytest.mark.parametrize("state", [TxnState.EMPTY, *COMPLETED.values()])
def test_a_new_instance_gets_the_next_epoch_when_nothing_is_open(state: TxnState) -> None:
    record, answers = record_of(state)
    assert (record.state, record.producer_epoch) == (TxnState.EMPTY, 4)
    assert [(one.producer_id, one.producer_epoch, one.error) for one in answers] == [
        (7, 4, ErrorCode.NONE)
    ]


EXPIRES_MS = BrokerSettings().transactional_id_expiration_ms
NEVER = 2**62


@pytest.mark.parametrize(
    ("state", "now_ms", "after"),
    [
        (TxnState.ONGOING, 60_000, None),
        (TxnState.ONGOING, 60_001, TxnState.PREPARE_ABORT),
        (TxnState.EMPTY, EXPIRES_MS - 1, None),
        *((state, EXPIRES_MS, TxnState.DEAD) for state in (TxnState.EMPTY, *COMPLETED.values())),
        *((state, NEVER, None) for state in PREPARED.values()),
    ],
)
def test_an_overdue_transaction_is_aborted_and_an_inactive_id_expires(
    state: TxnState, now_ms: int, after: TxnState | None
) -> None:
    change = change_by_time(metadata(state), at(now_ms))
    assert (change.after.state if change else None) is after


def test_a_new_id_is_logged_without_a_transaction_and_without_a_client_version() -> None:
    """Kafka: TransactionCoordinator.handleInitProducerId, with TransactionVersion.TV_0."""
    coordinator, _ = loaded()
    _, effects = coordinator.on_request(at(correlation=5, now_ms=90), CLIENT, NEW_INSTANCE)
    (entry,) = appended(effects)
    value: Any = entry.value
    assert value["client_transaction_version"] == 0
    assert (value["transaction_partitions"], value["transaction_start_timestamp_ms"]) == (None, -1)
    assert (value["last_producer_epoch"], value["next_producer_id"]) == (-1, -1)
    assert value["transaction_last_update_timestamp_ms"] == 90
