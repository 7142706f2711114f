"""The state machine of a transactional id has Kafka's transitions, and its states have Kafka's
numbers.
"""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.protocol.transactions import TransactionVersion, TxnResult
from reference_impl.transactions.metadata import (
    COMPLETED,
    PREDECESSORS,
    PREPARED,
    RESULTS,
    TransactionMetadata,
    TxnState,
)
from tests.reference_impl.transactions.one_coordinator import A, metadata

# From which states each state may be entered, in the order of the numbers in the log.
# Kafka: TransactionState.validPreviousStates, without PREPARE_EPOCH_FENCE.
KAFKA = """
    0  Empty           Empty CompleteCommit CompleteAbort
    1  Ongoing         Empty Ongoing CompleteCommit CompleteAbort
    2  PrepareCommit   Ongoing
    3  PrepareAbort    Empty Ongoing CompleteCommit CompleteAbort
    4  CompleteCommit  PrepareCommit
    5  CompleteAbort   PrepareAbort
    6  Dead            Empty CompleteCommit CompleteAbort
"""
ROWS = [line.split() for line in KAFKA.split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("number", "name", "before"), [(number, name, before) for number, name, *before in ROWS]
)
def test_a_state_has_kafkas_number_and_predecessors(
    number: str, name: str, before: list[str]
) -> None:
    state = TxnState(name)
    assert [*TxnState].index(state) == int(number)
    assert [one.value for one in TxnState if one in PREDECESSORS.get(state, ())] == before


@pytest.mark.parametrize(("name", "before"), [(name, before) for _, name, *before in ROWS])
def test_a_transition_that_kafka_forbids_is_an_error(name: str, before: list[str]) -> None:
    for one in TxnState:
        if one.value in before:
            assert metadata(one, A).moved(TxnState(name)).state is TxnState(name)
        else:
            with pytest.raises(ValueError, match=f"t: {one.value} -> {name}"):
                metadata(one, A).moved(TxnState(name))


def test_each_result_has_its_prepared_and_its_complete_state() -> None:
    commit, abort = TxnResult.COMMIT, TxnResult.ABORT
    assert {one: state.value for one, state in PREPARED.items()} == {
        commit: "PrepareCommit",
        abort: "PrepareAbort",
    }
    assert {one: state.value for one, state in COMPLETED.items()} == {
        commit: "CompleteCommit",
        abort: "CompleteAbort",
    }
    assert {state.value: one for state, one in RESULTS.items()} == {
        "PrepareCommit": commit,
        "PrepareAbort": abort,
        "CompleteCommit": commit,
        "CompleteAbort": abort,
    }


@pytest.mark.parametrize(("version", "number"), [("V1", 0), ("V2", 2)])
def test_the_log_has_the_numbers_of_the_state_and_of_the_clients_transaction_version(
    version: str, number: int
) -> None:
    """Kafka: TransactionVersion.transactionVersionForEndTxn. The field for the transaction version
    is 0 by default.
    """
    for status, state in enumerate(TxnState):
        written = metadata(state, A, version=TransactionVersion[version])
        value: Any = written.entry().value
        if state is TxnState.DEAD:
            assert value is None
        else:
            assert value["transaction_status"] == status
            assert value["client_transaction_version"] == number


def test_metadata_are_read_back_from_the_log() -> None:
    for version in TransactionVersion:
        written = metadata(TxnState.ONGOING, A, version=version)
        assert TransactionMetadata.of(written.entry()) == written
