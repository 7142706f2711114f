"""Each step of `transactions` with KIP-939 is zero, one or more steps of `coordinator-abstract`."""

from __future__ import annotations

import pytest

from model.transactions.two_phase_bugs import (
    ONE,
    AbortsPrepared,
    MarksNewId,
    RaisesEpochOnce,
    ZombieCommitsDatabase,
)
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.variants import Constants
from properties.refinement.detailed_kept_transactions import KeptTransactionsRefinement

LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
NEVER = {"enable_two_phase", "fence", "expire"}  # every transaction has two phases, none expires


def test_kept_transactions_refine_the_abstract_spec_while_the_coordinator_fails() -> None:
    spec = TwoPhaseCommit(**{**ONE, **LATE, "coordinator_failures": 1})
    refinement = KeptTransactionsRefinement(spec)
    walk = refinement.walk()
    assert (walk.pairs, walk.unexplained) == (2_235, [])
    actions = {action.name for action in refinement.abstract.actions}
    assert {*walk.explained} == (actions | {"none"}) - NEVER


@pytest.mark.parametrize(
    ("wrong", "constants", "action"),
    [
        (AbortsPrepared, ONE, "keep_prepared"),
        (RaisesEpochOnce, {**ONE, "max_epoch": 3}, "complete_prepared"),
        (MarksNewId, {**ONE, "max_epoch": 1}, "write_marker"),
        (ZombieCommitsDatabase, ONE, "commit_in_database"),
    ],
)
def test_a_step_of_a_bug_is_unexplained(
    wrong: type[TwoPhaseCommit], constants: Constants, action: str
) -> None:
    found = KeptTransactionsRefinement(wrong(**constants)).walk().unexplained
    assert action in {one.transition.action for one in found}
