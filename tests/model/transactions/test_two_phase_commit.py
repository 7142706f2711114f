"""A new instance completes the transaction of the old one, as the database decided (KIP-939)."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.transactions.state import QUIET
from model.transactions.two_phase_bugs import ONE, IgnoresPreparedEpoch, TimesOut
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.variants import Constants


@pytest.mark.parametrize(
    ("constants", "states", "transitions"),
    [
        (QUIET, 1_886, 2_858),
        ({**ONE, "coordinator_failures": 1}, 1_356, 2_050),
        ({**ONE, "leader_changes": 1, "replication_lags": True}, 446, 943),
    ],
)
def test_three_engines_count_the_same_states_and_every_claim_holds(
    constants: Constants, states: int, transitions: int
) -> None:
    for engine in ("compiled", "numpy", "python"):
        found = explore(TwoPhaseCommit(**constants), engine=engine)
        assert (found.violated, found.exhausted) == ((), True)
        assert (found.distinct, found.generated) == (states, transitions), engine


def test_three_instances_keep_the_claims_while_a_coordinator_fails_and_copies_are_late() -> None:
    late = {"records_late": True, "ends_late": True, "markers_late": True}
    spec = TwoPhaseCommit(**{**ONE, **late, "instances": 3, "coordinator_failures": 1})
    found = explore(spec)
    assert (found.violated, found.exhausted) == ((), True)
    assert found.taken["complete_prepared"]


def steps(spec: TwoPhaseCommit, claim: str) -> list[str]:
    return [step.action for step in explore(spec).discoveries[claim].trace]


def test_after_a_timeout_the_database_commits_what_kafka_has_aborted() -> None:
    run = steps(TimesOut(**{**ONE, "instances": 1}), "a_database_commit_stays")
    assert run[-2:] == ["fence", "commit_in_database"]


def test_the_prepared_state_of_the_transaction_before_commits_the_next_one() -> None:
    run = steps(IgnoresPreparedEpoch(**QUIET), "the_client_decides")
    assert run.count("begin") == 2
    assert run.count("commit_in_database") == 1
    assert run[-2:] == ["keep_prepared", "complete_prepared"]
