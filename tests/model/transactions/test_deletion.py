"""A transaction completes without its deleted topics. A topic that is created again under the same
name belongs to the transaction if records are sent to it.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.transactions.deletion import TopicIds
from model.transactions.deletion_bugs import ConfirmsByName
from model.transactions.state import QUIET
from model.variants import Constants
from tests.model.runs import broken
from tests.model.transactions.test_scripts import taken

ONE: Constants = {**QUIET, "transactions": 1}
LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
ADDED = """
    init_producer 0
    begin 0 0
    send 0 0
    add_partition 0 0
"""
DELETED = f"""
    {ADDED}
    verify 0 0
    append_record 0 0
    delete_topic 0
    end 0 COMMIT
"""


@pytest.mark.parametrize(
    ("constants", "states", "transitions"),
    [({**ONE, **LATE, "coordinator_failures": 1}, 3_482, 9_007), (QUIET, 2_274, 4_752)],
)
def test_three_engines_count_the_same_states_and_every_claim_holds(
    constants: Constants, states: int, transitions: int
) -> None:
    for engine in ("compiled", "numpy", "python"):
        found = explore(TopicIds(**constants), engine=engine)
        assert (found.violated, found.exhausted) == ((), True)
        assert (found.distinct, found.generated) == (states, transitions), engine


def test_a_commit_succeeds_after_its_only_topic_is_deleted() -> None:
    spec = TopicIds(**ONE)
    state, refused, _ = taken(spec, f"{DELETED} learn_topic 0 \n skip_marker 0 \n complete")
    assert refused == ""
    assert not broken(spec, state)


@pytest.mark.parametrize(
    ("step", "because"),
    [
        ("complete", "without_marker"),
        ("skip_marker 0", "known_topic[p] == 1"),
        ("write_marker 0 0", "topic[p] != 1"),
    ],
)
def test_until_the_coordinator_knows_of_the_deletion_it_waits(step: str, because: str) -> None:
    _, refused, why = taken(TopicIds(**ONE), f"{DELETED} {step}")
    assert refused == step
    assert because in why


def test_a_lagging_coordinator_confirms_no_record_of_the_new_topic() -> None:
    script = f"{ADDED} delete_topic 0 \n create_topic 0 \n verify 0 0"
    _, refused, why = taken(TopicIds(**ONE), script)
    assert refused == "verify 0 0"
    assert "known_topic[p] == topic[p]" in why
    assert taken(ConfirmsByName(**ONE), script)[1] == ""


def test_by_name_an_aborted_record_is_read() -> None:
    """The marker of the next transaction commits the record of the aborted one."""
    found = explore(ConfirmsByName(**QUIET))
    assert {"no_hanging_transaction", "no_aborted_read", "a_commit_is_whole"} <= {*found.violated}
    run = [step.action for step in found.discoveries["no_aborted_read"].trace]
    assert run.count("skip_marker") == 1
    assert run[-1] == "write_marker"


def test_a_coordinator_that_does_not_lag_may_compare_names() -> None:
    found = explore(ConfirmsByName(**{**QUIET, "metadata_lags": False, "records_late": True}))
    assert (found.violated, found.exhausted) == ((), True)
