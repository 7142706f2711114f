"""Every step of the spec `transactions` is at most two steps of the proved abstract spec.

Here `transactions` is called the detailed spec, because it has more detail than the abstract one.
"""

from __future__ import annotations

from collections import Counter

import pytest

from checkers.explicit.graph import compiled_graph
from model.language.interpreter import Interpreter
from model.transactions.state import QUIET
from model.transactions.versions import LaxMarkers, Transactions, Version1
from model.variants import Constants
from properties.refinement.detailed_transactions import Refinement

LATE: Constants = {**QUIET, "records_late": True, "ends_late": True, "markers_late": True}
UNEXPLAINED = "unexplained"


def coverage(spec: Transactions) -> Counter[str]:
    """Returns how many transitions of the detailed spec each abstract action explains.

    The key "none" counts transitions that change nothing in the abstract spec; `UNEXPLAINED` counts
    transitions that no action explains.
    """
    found, refinement = compiled_graph(spec), Refinement(spec)
    steps: Counter[str] = Counter()
    for a, b in found.graph.edges():
        actions = refinement.actions_between(found.states[a], found.states[b])
        steps.update({UNEXPLAINED} if actions is None else set(actions or ("none",)))
    return steps


def test_two_transactions_with_late_copies_refine_the_abstract_spec() -> None:
    """With two transactions, actions of the abstract spec explain every step of the detailed spec.

    Copies of records, end requests and markers may arrive late. A fence of the producer is
    explained by `end_abort`, because the fence aborts the open transaction.
    """
    assert coverage(Transactions(**LATE)) == {
        "none": 526,
        "begin": 27,
        "add_partition": 9,
        "end_commit": 9,
        "end_abort": 72,
        "append": 38,
        "write_marker": 107,
        "complete_transaction": 214,
        "init_producer": 176,
    }


@pytest.mark.parametrize(
    "constants",
    [{**LATE, "instances": 2}, {**LATE, "coordinator_failures": 1}, {**QUIET, "partitions": 2}],
)
def test_a_new_instance_a_failover_and_two_partitions_refine_the_abstract_spec(
    constants: Constants,
) -> None:
    assert not coverage(Transactions(**constants))[UNEXPLAINED]


@pytest.mark.parametrize("version", [LaxMarkers, Version1])
def test_versions_that_break_the_proof_take_unexplained_steps(version: type[Transactions]) -> None:
    assert coverage(version(**LATE))[UNEXPLAINED]


def test_initial_states_agree() -> None:
    refinement = Refinement(Transactions(**QUIET))
    (detailed,) = Interpreter.of(refinement.detailed).initial(refinement.detailed)
    (abstract,) = Interpreter.of(refinement.abstract).initial(refinement.abstract)
    assert refinement.abstraction(detailed) == abstract


def test_every_mapped_state_satisfies_the_invariants_of_the_proof() -> None:
    spec = Transactions(**LATE)
    refinement = Refinement(spec)
    interpreter = Interpreter.of(refinement.abstract)
    for state in compiled_graph(spec).states:
        seen = refinement.abstraction(state)
        assert all(interpreter.holds(c.formula, seen) for c in refinement.abstract.claims)
