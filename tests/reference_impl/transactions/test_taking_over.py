"""A new coordinator restores its transactional ids from the log, and completes their decisions."""

from __future__ import annotations

import pytest

from reference_impl.log.coordinator_records import TRANSACTION, Entry
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.transactions import (
    AddPartitionsToTxn,
    TransactionVersion,
    TxnResult,
)
from reference_impl.transactions.metadata import COMPLETED, PREPARED, TxnState
from tests.reference_impl.transactions.one_coordinator import (
    COORDINATOR_EPOCH,
    PRODUCER,
    A,
    B,
    answers,
    appended,
    at,
    loaded,
    markers,
    metadata,
    replicated,
    written,
)

TOMBSTONE = Entry([TRANSACTION, "t"], None)


@pytest.mark.parametrize("version", TransactionVersion)
@pytest.mark.parametrize("result", TxnResult)
def test_a_decision_is_carried_out_after_a_failover(
    result: TxnResult, version: TransactionVersion
) -> None:
    """A new coordinator sends the markers of a prepared commit or abort, then completes it.

    Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
    """
    coordinator, effects = loaded(metadata(PREPARED[result], A, B, version=version))
    assert [(to, marker.topic_partition) for to, marker in markers(effects)] == [(2, A), (3, B)]
    for _, marker in markers(effects):
        assert (marker.result, marker.version) == (result, version)
        assert (marker.producer_id, marker.producer_epoch) == (7, 3)
        assert marker.coordinator_epoch == COORDINATOR_EPOCH
    coordinator, effects = written(coordinator, A, correlation=1)
    assert appended(effects) == []
    coordinator, effects = written(coordinator, B, correlation=1)
    assert [entry.key for entry in appended(effects)] == [[TRANSACTION, "t"]]
    assert coordinator.transactions["t"].state is PREPARED[result]
    coordinator, _ = replicated(coordinator)
    assert coordinator.transactions["t"].state is COMPLETED[result]


@pytest.mark.parametrize("state", [TxnState.ONGOING, *COMPLETED.values(), TxnState.EMPTY])
def test_an_undecided_or_complete_transaction_gets_no_marker(state: TxnState) -> None:
    coordinator, effects = loaded(metadata(state, A))
    assert markers(effects) == []
    assert appended(effects) == []
    assert coordinator.transactions["t"].state is state


def test_the_last_record_of_a_transactional_id_counts() -> None:
    prepared = metadata(TxnState.PREPARE_COMMIT, A)
    complete = metadata(TxnState.COMPLETE_COMMIT)
    coordinator, effects = loaded(prepared, complete)
    assert (coordinator.transactions["t"], markers(effects)) == (complete, [])
    coordinator, effects = loaded(complete, prepared)
    assert (coordinator.transactions["t"], len(markers(effects))) == (prepared, 1)


def test_a_tombstone_makes_the_transactional_id_unknown() -> None:
    """An id that has expired stays unknown after a failover, until it has a new record.

    Kafka: TransactionStateManager.loadTransactionMetadata.
    """
    empty = metadata(TxnState.EMPTY)
    request = AddPartitionsToTxn(**PRODUCER, topic_partitions=(A,))
    unknown, _ = loaded(empty, TOMBSTONE)
    assert unknown.transactions == {}
    assert answers(unknown, request) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    known, _ = loaded(empty, TOMBSTONE, empty)
    assert known.transactions == {"t": empty}
    assert answers(known, request) == []
    nothing, _ = loaded(TOMBSTONE)
    assert nothing.transactions == {}


def test_an_overdue_transaction_is_aborted_by_the_new_coordinator() -> None:
    open_ = metadata(TxnState.ONGOING, A, timeout_ms=5_000)
    for now_ms, aborted in ((5_000, []), (5_001, [TxnState.PREPARE_ABORT])):
        coordinator, _ = loaded(open_, context=at(now_ms))
        states = [change.after.state for some in coordinator.changes.values() for change in some]
        assert states == aborted


@pytest.mark.parametrize("state", [TxnState.EMPTY, *COMPLETED.values()])
def test_an_inactive_id_expires_at_the_end_of_its_time(state: TxnState) -> None:
    """Kafka: TransactionStateManager.shouldExpire."""
    expires_ms = BrokerSettings().transactional_id_expiration_ms
    for now_ms, entries in ((expires_ms - 1, []), (expires_ms, [TOMBSTONE])):
        _, effects = loaded(metadata(state), context=at(now_ms))
        assert appended(effects) == entries
