"""`urteil explain SPEC` prints the whole spec: state, actions, fairness, assumptions, versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from checkers.explicit.graph import compiled_graph
from checkers.report.spec_page import spec_page
from model.language import Spec
from model.specs import SPECS, find, variants_of
from model.state_machines import STATE_MACHINES, Step
from model.transactions.state import QUIET

Cells = Mapping[tuple[str, tuple[int, ...]], Any]


@pytest.mark.parametrize("spec", SPECS)
def test_a_page_has_every_action_claim_version_and_bug(spec: str) -> None:
    page, made = spec_page(spec), find(spec).make()
    for action in made.actions:
        assert f"{action.name}(" in page["actions"]
    assert page["actions"].count("  weak\n") == sum(a.fair == "weak" for a in made.actions)
    assert all(claim.name in page["claims"] for claim in made.properties)
    assert page["assumptions"]
    assert all(name in page["state"] for name in made.shapes)
    for row in variants_of(spec):
        assert f"{row.name}" in page[f"{row.kind}s"]
        assert str(row.in_force) in page[f"{row.kind}s"]


def test_a_version_names_its_releases_and_a_rule_without_a_release_says_so() -> None:
    page = spec_page("replication")
    assert "kip-101: from Kafka 0.11 to 1.1; fails strong_isr in 11 steps" in page["versions"]
    assert "kip-320-first-try: in no release of Kafka" in page["versions"]
    assert "lets a follower join the ISR before" in spec_page("retention")["in force"]


LABELS: dict[str, tuple[Spec, Callable[[Cells], list[str]]]] = {
    "transactions": (
        find("transactions").make({**QUIET, "instances": 2, "ids_expire": True}),
        lambda s: [("DEAD", "EMPTY", "ONGOING", "PREPARE", "COMPLETE")[s["metadata.state", ()]]],
    ),
    "idempotence": (
        find("idempotence").make({"batches": 2, "leader_changes": 0, "deletes": False}),
        lambda s: [("UNSENT", "IN_FLIGHT", "ACKED", "FAILED")[s["status", (b,)]] for b in range(2)],
    ),
    "classic-group": (
        find("classic-group").make({"generations": 2}),
        lambda s: [
            "PREPARING_REBALANCE"
            if s["is_rebalancing", ()]
            else "EMPTY"
            if not any(s["group.members", (m,)] for m in range(2))
            else "STABLE"
            if s["is_assigned", ()]
            else "COMPLETING_REBALANCE"
        ],
    ),
}


@pytest.mark.parametrize("spec", STATE_MACHINES)
def test_a_state_diagram_has_exactly_the_steps_of_the_spec(spec: str) -> None:
    made, label = LABELS[spec]
    assert set(STATE_MACHINES[spec].steps) == steps_of(made, label)


def steps_of(spec: Spec, label: Callable[[Cells], list[str]]) -> set[Step]:
    """Returns the label changes in a spec, each as a tuple: old label, action, new label.

    The parameter `label` is a function from a state of the spec to its labels.
    """
    explored = compiled_graph(spec)
    labels = [label(state) for state in explored.states]
    return {
        (old, edge["action"], new)
        for a, b, edge in explored.graph.edges(data=True)
        for old, new in zip(labels[a], labels[b], strict=True)
        if old != new
    }
