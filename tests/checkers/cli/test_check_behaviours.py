"""`urteil check` checks action properties and liveness properties."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

LEASE = '''
from typing import Self

from model.language import *

class Client(Sort):
    """A client."""

class Term(Int):
    """How often the lease was given."""

class Lease(Spec):
    """A lease goes from client to client."""

    holder: Client | Nothing
    term: Term

    def scope(s) -> Scope:
        return {Client: 2, Term: range(3)}

    @action
    def acquire(s, c: Client) -> None:
        when(s.holder == nothing, s.term < 2)
        s.holder = c
        s.term = s.term + 1

    @action(fair="weak")
    def release(s, c: Client) -> None:
        when(s.holder == c)
        s.holder = nothing

    @action_property
    def terms_grow(s, after: Self) -> Bool:
        """A term is never given twice."""
        return implies(s.holder == nothing, s.term < after.term)

    @liveness
    def is_released(s, c: Client) -> Temporal:
        """Whoever has the lease gives it back."""
        return leads_to(s.holder == c, s.holder != c)
'''


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    file = tmp_path / "lease.py"
    file.write_text(LEASE)
    return file


def test_action_and_liveness_properties_hold(call: Any, lease: Path) -> None:
    output = call("check", str(lease))
    assert output.verdicts() == {"terms_grow": "holds", "is_released": "holds"}
    assert output.exit_code == 0


def test_a_liveness_violation_is_printed_as_a_counterexample(call: Any, lease: Path) -> None:
    lease.write_text(LEASE.replace('@action(fair="weak")', "@action"))
    output = call("check", str(lease))
    assert output.verdicts() == {"terms_grow": "holds", "is_released": "violated"}
    assert output.exit_code == 1
    (evidence,) = output.named("evidence")
    lines = evidence["text"].splitlines()
    assert lines[0].startswith("✗ is_released  violated for ever")
    (last,) = (line for line in lines if line.startswith("     1"))
    assert last == "     1  acquire(c0)  holder  nothing → c0   ← for ever"
    assert "after step 1: holder is c0" in evidence["text"]
    assert "from step 1 on this is never true: holder != c0" in evidence["text"]
    assert "no action of the spec is fair: write @action(fair=...)" in evidence["text"]


def test_a_step_that_breaks_an_action_property_is_printed(call: Any, lease: Path) -> None:
    lease.write_text(
        LEASE.replace("s.term = s.term + 1", "s.term = ite(s.term == 1, s.term, s.term + 1)")
    )
    output = call("check", str(lease), "--property", "terms_*")
    assert output.verdicts() == {"terms_grow": "violated"}
    (evidence,) = output.named("evidence")
    assert "holder is nothing" in evidence["text"]
    assert "but  term 1 < after.term 1  is false" in evidence["text"]


def test_a_spent_budget_leaves_action_and_liveness_properties_undecided(
    call: Any, lease: Path
) -> None:
    output = call("check", str(lease), "--budget", "1k-states")
    assert output.exit_code == 0
    larger = LEASE.replace("Client: 2, Term: range(3)", "Client: 200, Term: range(30)")
    lease.write_text(larger.replace("s.term < 2", "s.term < 29"))
    output = call("check", str(lease), "--budget", "1k-states")
    assert output.exit_code == 3
    assert set(output.verdicts().values()) == {"undecided"}


def test_a_proof_leaves_liveness_and_action_properties_undecided(call: Any, lease: Path) -> None:
    output = call("prove", str(lease), "--property", "terms_grow")
    assert output.verdicts() == {"terms_grow": "undecided"}
    (decided,) = output.named("property_decided")
    assert "use urteil check for this property" in decided["reason"]


def test_an_undefined_term_of_an_action_is_named_with_the_next_move(call: Any, lease: Path) -> None:
    lease.write_text(LEASE.replace("s.term < 2", "s.term < 3"))
    output = call("check", str(lease))
    assert output.exit_code == 2
    assert " is ill-defined: acquire(c0), line " in output.stderr
    assert "term + 1 is 3, outside of Term, which is 0..2; make the sort larger" in output.stderr


def test_an_undefined_term_of_a_claim_is_named(call: Any, lease: Path) -> None:
    lease.write_text(
        LEASE.replace("leads_to(s.holder == c,", "leads_to(s.known[s.term + 1],").replace(
            "    term: Term\n", "    term: Term\n    known: Set[Term]\n"
        )
    )
    output = call("check", str(lease))
    assert output.exit_code == 2
    assert "is_released is ill-defined: a value is outside its sort" in output.stderr


def test_an_action_that_is_never_taken_is_noted(call: Any, lease: Path) -> None:
    lease.write_text(LEASE.replace("when(s.holder == c)", "when(s.holder == c, s.term == 0)"))
    output = call("check", str(lease), "--property", "terms_grow")
    assert output.exit_code == 0
    assert (
        "release: never taken: line 29 is never true where the conjuncts before it are: term == 0"
        in (output.stderr)
    )


def test_random_walks_find_violations_and_prove_nothing(call: Any, lease: Path) -> None:
    output = call("check", str(lease), "--simulate", "--budget", "1k-states", "--weight", "rel*=2")
    assert output.exit_code == 3
    assert output.verdicts() == {"terms_grow": "undecided", "is_released": "undecided"}
    broken = "s.term = ite(s.term == 1, s.term, s.term + 1)"
    lease.write_text(LEASE.replace("s.term = s.term + 1", broken))
    output = call("check", str(lease), "--simulate", "--property", "terms_grow")
    assert output.exit_code == 1
    (evidence,) = output.named("evidence")
    assert "no: found by a random walk" in evidence["text"]
    assert call("check", str(lease), "--weight", "release=2").exit_code == 2
    assert "release" in call("check", str(lease), "--simulate", "--weight", "relase=2").stderr
    assert call("check", str(lease), "--simulate", "--weight", "release=much").exit_code == 2


def test_symmetry_is_refused_together_with_liveness(call: Any, lease: Path) -> None:
    output = call("check", str(lease), "--symmetry")
    assert output.exit_code == 2
    assert "--symmetry cannot check liveness" in output.stderr
    output = call("check", str(lease), "--symmetry", "--property", "terms_*")
    assert output.verdicts() == {"terms_grow": "holds"}
    assert "states equal up to a renaming of Client are one" in output.stderr


def test_the_report_shows_the_steps_as_an_image(call: Any, lease: Path, tmp_path: Path) -> None:
    lease.write_text(LEASE.replace('@action(fair="weak")', "@action"))
    call("check", str(lease))
    (report,) = tmp_path.glob("runs/*/report.html")
    page = report.read_text()
    (image,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', page)
    drawn = base64.b64decode(image).decode()
    assert drawn.startswith("<svg")
    assert "nothing more happens" in drawn
