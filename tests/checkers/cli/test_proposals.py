"""`urteil prove --houdini` proposes lemmas as text, and the pasted text proves the property."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.checkers.cli.test_prove import COUNTER

LEASE = '''
from model.language import (
    Bool, Map, Nothing, Ordered, Scope, Set, Sort, Spec, action, all_of, any_of, forall, implies,
    invariant, lemma, when,
)

class Client(Sort): ...
class Term(Ordered): ...

class Lease(Spec):
    now: Term
    holder: Map[Term, Client | Nothing]
    accepted: Map[Term, Set[Client]]

    def scope(s) -> Scope:
        return {Client: 2, Term: 3}

    @action
    def grant(s, client: Client, term: Term) -> None:
        when(s.now < term)
        s.now = term
        s.holder[term] = client

    @action
    def write(s, client: Client, term: Term) -> None:
        when(s.holder[term] == client)
        s.accepted[term][client] = True

    @invariant
    def one_writer(s) -> Bool:
        """In each term, at most one client writes."""
        return forall(
            implies(s.accepted[t][a] & s.accepted[t][b], a == b)
            for t in Term for a in Client for b in Client
        )
'''
AGAIN = LEASE.replace("s.now < term", "s.now <= term")


def figures(output: Any) -> dict[str, Any]:
    return {e["metric"]: e["value"] for e in output.named("measured")}


def test_the_pasted_lemmas_prove_the_property(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "lease.py"
    spec.write_text(LEASE)
    assert call("prove", str(spec)).verdicts() == {"one_writer": "undecided"}

    output = call("prove", str(spec), "--houdini")
    assert output.exit_code == 0
    (decided,) = output.named("property_decided")
    assert decided["verdict"] == "holds"
    (text,) = (e["text"] for e in output.named("evidence") if "@lemma" in e["text"])
    names = re.findall(r"def (\w+)", text)
    assert text.startswith(f"✓ {len(names)} lemmas prove one_writer: ")
    assert decided["reason"].endswith(
        f"without bounds, with the proposed lemmas {', '.join(names)}"
    )
    assert re.search('"""Proposed from the guard of (write|grant)', text)
    assert "from model.language import Bool, " in text

    lemmas = text.partition("@lemma")[1:]
    pasted = "\n".join(f"    {line}" for line in "".join(lemmas).splitlines())
    spec.write_text(f"{LEASE}\n{pasted}\n")
    again = call("prove", str(spec))
    assert again.verdicts() == {"one_writer": "holds"}
    assert again.exit_code == 0


def test_a_false_property_is_violated_and_no_lemma_proves_it(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "lease.py"
    spec.write_text(AGAIN)
    output = call("prove", str(spec), "--houdini")
    assert output.exit_code == 1
    (decided,) = output.named("property_decided")
    assert (decided["verdict"], decided["trace_length"]) == ("violated", 4)
    assert not any("@lemma" in e["text"] for e in output.named("evidence"))
    found = figures(output)["lemmas"]
    assert found.startswith("none found: a claim is false; exploration refutes one_writer; ")


def test_too_few_candidates_leave_the_property_undecided(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "lease.py"
    spec.write_text(LEASE)
    output = call("prove", str(spec), "--houdini", "--candidates", "2")
    assert output.verdicts() == {"one_writer": "undecided"}
    assert output.exit_code == 3
    assert figures(output)["lemmas"].startswith("none found: no candidates are left; ")
    assert figures(output)["search for a run"].endswith("every reachable state was explored")


def test_a_proof_that_succeeds_needs_no_lemmas(call: Any) -> None:
    output = call("prove", "idempotence-abstract", "--houdini")
    assert output.exit_code == 0
    assert "lemmas" not in figures(output)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--candidates", "9"], "--candidates 9: only with --houdini"),
        (["--budget", "60s"], "--budget 60s: only with --houdini"),
        (["--houdini", "--candidates", "0"], "--candidates 0: must be at least 1"),
        (["--houdini", "--budget", "9k-states"], "--budget 9k-states: a search for lemmas takes"),
        (["--houdini", "--budget", "soon"], "--budget soon: write a positive budget such as 60s"),
    ],
)
def test_a_bad_option_is_refused(call: Any, options: list[str], message: str) -> None:
    output = call("prove", "transactions-abstract", *options)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.verdicts() == {}


@pytest.mark.parametrize("budget", ["9s", "9k-states"])
def test_a_budget_of_pyproject_that_is_for_other_searches_is_left_out(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(f"[tool.urteil]\nbudget = '{budget}'\n")
    assert call("prove", "idempotence-abstract").exit_code == 0
    Path("lease.py").write_text(LEASE)
    assert call("prove", "lease.py", "--houdini").verdicts() == {"one_writer": "holds"}


def test_a_spec_with_integers_has_no_proposals(call: Any, tmp_path: Path) -> None:
    spec = tmp_path / "counter.py"
    spec.write_text(COUNTER)
    output = call("prove", str(spec), "--houdini")
    assert output.exit_code == 2
    assert "--houdini: the spec has integers (Offset), which a proof cannot use" in output.stderr
