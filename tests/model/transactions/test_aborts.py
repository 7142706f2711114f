"""A client of version 1 aborts, continues under the next epoch, and commits (KIP-360)."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.transactions.aborts import AbortAndContinue
from model.transactions.client_bugs import KeepsEpochAfterAbort
from model.transactions.state import QUIET
from model.variants import Constants
from tests.model.transactions.test_scripts import taken

LATE: Constants = {**QUIET, "records_late": True, "ends_late": True}
ABORTED = """
    init_producer 0
    begin 0 0
    add_partition 0 0
    send 0 0
    end 0 ABORT
    write_marker 0 0
    complete
    receive_end 0 0 ABORT
"""
NEXT = """
    begin 1 0
    add_partition 0 1
    send 0 1
    verify 0 1
    append_record 0 1
"""


@pytest.mark.parametrize(
    ("constants", "states", "transitions"),
    [
        ({"records_late": True}, 593, 799),
        ({"coordinator_failures": 1, "transactions": 1}, 970, 1_385),
    ],
)
def test_three_engines_count_the_same_states_and_every_claim_holds(
    constants: Constants, states: int, transitions: int
) -> None:
    for engine in ("compiled", "numpy", "python"):
        found = explore(AbortAndContinue(**{**QUIET, **constants}), engine=engine)
        assert (found.violated, found.exhausted) == ((), True)
        assert (found.distinct, found.generated) == (states, transitions), engine


def test_a_repeated_request_is_answered_after_a_failed_append() -> None:
    found = explore(AbortAndContinue(**{**QUIET, "records_late": True, "append_failures": 1}))
    assert (found.violated, found.exhausted) == ((), True)
    assert [w for w, seen in found.witnesses.items() if not seen.states] == ["epochs_ran_out"]


@pytest.mark.parametrize(
    ("late", "because"),
    [
        ("end 0 ABORT", "producer_epoch"),
        ("verify 0 0", "stamp.producer_epoch[k] < log.record.producer_epoch"),
        ("append_record 0 0", "stamp.producer_epoch[k] < log.record.producer_epoch"),
    ],
)
def test_late_requests_of_the_aborted_transaction_are_refused(late: str, because: str) -> None:
    spec = AbortAndContinue(**LATE)
    _, refused, why = taken(spec, f"{ABORTED} raise_epoch 0 \n {NEXT} {late}")
    assert refused == late
    assert because in why


def test_a_client_begins_nothing_between_its_abort_and_its_next_epoch() -> None:
    _, refused, why = taken(AbortAndContinue(**LATE), f"{ABORTED} begin 1 0")
    assert refused == "begin 1 0"
    assert "requested" in why


def test_under_the_old_epoch_an_aborted_record_is_committed() -> None:
    found = explore(KeepsEpochAfterAbort(**{**QUIET, "records_late": True}))
    run = [step.action for step in found.discoveries["no_aborted_read"].trace]
    assert run[-3:] == ["append_record", "end", "write_marker"]
