"""`urteil explain SPEC` prints the whole spec: state, actions, fairness, assumptions, versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkers.report.spec_page import spec_page
from model.language import SpecError
from model.specs import SPECS, find, variants_of
from model.state_machine import WIDTH, StateMachine
from model.state_machines import STATE_MACHINES


def entries(texts: str) -> list[str]:
    """Returns the entries of a page. An entry is the indented text below a heading, here joined to
    one line.
    """
    return [" ".join(found.split()) for found in re.findall(r"((?:^    .*\n?)+)", texts, re.M)]


@pytest.mark.parametrize("spec", SPECS)
def test_a_page_has_every_action_claim_version_and_bug(spec: str) -> None:
    page, made = spec_page(spec), find(spec).make()
    for action in made.actions:
        assert f"{action.name}(" in page["actions"]
    assert page["actions"].count("  weak\n") == sum(a.fair == "weak" for a in made.actions)
    assert all(claim.name in page["claims"] for claim in made.properties)
    assert [entry for entry in entries(page["assumptions"]) if not entry.endswith(".")] == []
    assert all(name in page["state"] for name in made.shapes)
    for row in variants_of(spec):
        assert f"{row.name}" in page[f"{row.kind}s"]
        assert str(row.in_force) in " ".join(page[f"{row.kind}s"].split())
    assert (
        max(len(line) for name in ("versions", "bugs") for line in page.get(name, "").splitlines())
        <= WIDTH
    )


def test_an_assumption_goes_on_past_a_line_that_begins_with_a_word_and_a_colon() -> None:
    (assumptions,) = entries(spec_page("replication")["assumptions"])
    assert assumptions.endswith(
        "The spec has two kinds of data: logs and leader epochs. It has no record batches, no"
        " producers and no consumers."
    )


def test_a_version_names_its_releases_or_says_that_it_has_none() -> None:
    page = spec_page("replication")
    assert "kip-101: from Kafka 0.11 to 1.1; fails strong_isr in 11 steps" in page["versions"]
    assert "kip-320-first-try: in no release of Kafka" in page["versions"]
    assert "8 steps; fixed by fetch-divergence; KAFKA-13141" in page["bugs"]
    assert "lets a follower join the ISR before" in spec_page("retention")["in force"]


def test_a_spec_in_a_file_has_a_page_with_its_declarations(tmp_path: Path) -> None:
    file = tmp_path / "lease.py"
    file.write_text(LEASE)
    page = spec_page(str(file))
    assert page["about"] == "A lease that has one holder at a time."
    assert page["state"] == "holder: Node | Nothing"
    assert page["actions"].startswith("take(n: Node)  weak")
    assert page["versions"] == "lease\nother-lease (default)\n    A lease that is never free."
    assert not {"in force", "bugs", "sources", "state diagram"} & page.keys()


def test_a_mistake_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "lease.py"
    file.write_text(LEASE.replace("s.holder == nothing", "s.owner == nothing"))
    with pytest.raises(SpecError, match=r"lease.py:18: "):
        spec_page(str(file))


LEASE = '''"""A lease that has one holder at a time."""
from __future__ import annotations

from model.language import Nothing, Scope, Sort, Spec, action, nothing, when


class Node(Sort): ...


class Lease(Spec):
    holder: Node | Nothing

    def scope(s) -> Scope:
        return {Node: 2}

    @action(fair="weak")
    def take(s, n: Node) -> None:
        when(s.holder == nothing)
        s.holder = n


class OtherLease(Lease):
    """A lease that is never free."""
'''


@pytest.mark.parametrize("spec", SPECS)
def test_every_spec_has_a_state_diagram_of_ten_states_at_most(spec: str) -> None:
    page = spec_page(spec)["state diagram"]
    for machine in STATE_MACHINES[spec]:
        states = {state for old, _, new in machine.steps for state in (old, new)}
        assert len(states) <= 10
        assert set(machine.means) in (states, set())
        assert machine.diagram() in page
    assert max(map(len, page.splitlines())) <= WIDTH


def test_a_diagram_groups_the_transitions_of_a_state() -> None:
    machine = StateMachine(
        of="a door",
        means={"OPEN": "one may enter", "SHUT": "nobody may enter"},
        steps=(("OPEN", "shut | slam", "SHUT"), ("SHUT", "open", "OPEN"), ("SHUT", "go", "GONE")),
        at=[{"doors": 1, "locks": False}],
    )
    assert machine.diagram().splitlines() == [
        "a door",
        "  OPEN  --shut | slam--> SHUT",
        "  SHUT  --open---------> OPEN",
        "        --go-----------> GONE",
        "  OPEN  one may enter",
        "  SHUT  nobody may enter",
        "  explored at doors=1, locks=false",
    ]
    assert [*machine.transitions()][:2] == [("OPEN", "shut", "SHUT"), ("OPEN", "slam", "SHUT")]
