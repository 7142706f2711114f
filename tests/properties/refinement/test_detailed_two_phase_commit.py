"""Each step of `transactions` with KIP-939 is at most two steps of `transactions-abstract`."""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.explicit.graph import compiled_graph
from model.transactions.state import QUIET
from model.transactions.two_phase_aborts import WithoutKeeping
from model.transactions.two_phase_bugs import ONE, MarksNewId
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.variants import Constants
from properties.refinement.detailed_two_phase_commit import TwoPhaseRefinement

LATE: Constants = {"records_late": True, "ends_late": True, "markers_late": True}
IDS: Constants = {"producer_ids": 3}  # the abstract spec has few epochs


def coverage(spec: TwoPhaseCommit) -> Counter[str]:
    """Returns how many transitions each abstract action explains. The transitions that no abstract
    action explains are counted as `unexplained`.
    """
    found, refinement = compiled_graph(spec), TwoPhaseRefinement(spec)
    steps: Counter[str] = Counter()
    for a, b in found.graph.edges():
        actions = refinement.actions_between(found.states[a], found.states[b])
        steps.update({"unexplained"} if actions is None else set(actions))
    return steps


@pytest.mark.parametrize(
    "constants", [{**QUIET, **LATE}, {**ONE, **LATE, "coordinator_failures": 1}]
)
def test_kept_transactions_refine_the_abstract_spec(constants: Constants) -> None:
    """Every abstract action explains some step, except `fence` and `write_marker_again`."""
    spec = TwoPhaseCommit(**{**constants, **IDS})
    actions = {action.name for action in TwoPhaseRefinement(spec).abstract.actions}
    assert {*coverage(spec)} == actions - {"fence", "write_marker_again"}


def test_an_abort_without_keeping_refines_the_abstract_spec() -> None:
    spec = WithoutKeeping(**{**ONE, **LATE, **IDS, "coordinator_failures": 1})
    steps = coverage(spec)
    assert steps["end_abort"] > coverage(TwoPhaseCommit(**{**ONE, **LATE, **IDS}))["end_abort"]
    assert not steps["unexplained"]


def test_a_marker_with_the_new_id_is_unexplained() -> None:
    assert coverage(MarksNewId(**{**ONE, "max_epoch": 1}))["unexplained"]
