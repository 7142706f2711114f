"""A new instance aborts the ongoing transaction instead of keeping it (KIP-939)."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.language import Bool, false
from model.transactions.state import QUIET
from model.transactions.two_phase_aborts import WithoutKeeping
from model.transactions.two_phase_bugs import ONE, AbortsFirst
from model.variants import Constants
from tests.model.transactions.test_scripts import taken

LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
SENT = """
    init_producer 0
    begin 0 0
    send 0 0
    add_partition 0 0
    verify 0 0
    append_record 0 0
"""


@pytest.mark.parametrize(
    ("constants", "states", "transitions"),
    [({**ONE, **LATE, "coordinator_failures": 1}, 4_729, 9_427), (QUIET, 3_858, 6_079)],
)
def test_three_engines_count_the_same_states_and_every_claim_holds(
    constants: Constants, states: int, transitions: int
) -> None:
    for engine in ("compiled", "numpy", "python"):
        found = explore(WithoutKeeping(**constants), engine=engine)
        assert (found.violated, found.exhausted) == ((), True)
        assert (found.distinct, found.generated) == (states, transitions), engine


def refused(script: str) -> tuple[str, str]:
    _, step, why = taken(WithoutKeeping(**ONE), script)
    return step, why


def test_the_database_refuses_the_old_instance_before_its_transaction_is_aborted() -> None:
    step, why = refused(f"{SENT} abort_ongoing 1")
    assert step == "abort_ongoing 1"
    assert "newest_in_database" in why
    step, why = refused(f"{SENT} refuse_older 1 \n abort_ongoing 1 \n commit_in_database 0 0")
    assert step == "commit_in_database 0 0"


def test_a_prepared_state_forbids_the_abort() -> None:
    step, why = refused(f"{SENT} commit_in_database 0 0 \n refuse_older 1 \n abort_ongoing 1")
    assert step == "abort_ongoing 1"
    assert "in_database" in why


class OverlooksPreparedStates(WithoutKeeping):
    """A mutant in which a new instance does not look for a prepared state."""

    def has_prepared_state(s) -> Bool:
        return false


@pytest.mark.parametrize(
    ("wrong", "last"),
    [
        (AbortsFirst, ["abort_ongoing", "commit_in_database"]),
        (OverlooksPreparedStates, ["commit_in_database", "refuse_older", "abort_ongoing"]),
    ],
)
def test_in_another_order_kafka_aborts_what_the_database_commits(
    wrong: type[WithoutKeeping], last: list[str]
) -> None:
    found = explore(wrong(**ONE)).discoveries["a_database_commit_stays"]
    assert [step.action for step in found.trace][-len(last) :] == last
