"""`tools.claims` computes the recorded verdicts of claims again. The tests compare those that it
computes quickly.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers import claim_record
from checkers.claim_record import keep, kept
from properties.claims.catalogue import CLAIMS
from properties.suites.search.profiles import PROFILES
from tools.claims import SIDES, by_proof, main, reprinted, verdicts_of


def spec_of(name: str) -> str:
    return name.partition(".")[0]


BY_PROOF = [(claim, by) for claim in CLAIMS for by in claim.decided_by if by.engine == "proof"]
PROVED = sorted({spec_of(by.name) for _, by in BY_PROOF})


def test_the_rows_of_models_are_up_to_date() -> None:
    rows = [str(row) for row in verdicts_of(["model"], SIDES, PROFILES["pr"])]
    assert rows
    assert sorted(rows) == sorted(str(row) for row in kept() if row.engine == "model")


@pytest.mark.parametrize("spec", PROVED)
def test_the_rows_of_a_proof_are_up_to_date(spec: str) -> None:
    rows = [
        str(row)
        for claim, by in BY_PROOF
        if spec_of(by.name) == spec
        for row in by_proof(claim, by)
    ]
    known = [row for row in kept() if row.engine == "proof"]
    assert sorted(rows) == sorted(str(row) for row in known if spec_of(row.name) == spec)
    assert {spec_of(row.name) for row in known} == set(PROVED)


@pytest.mark.parametrize(
    "name", sorted({row.name for row in kept() if "\nstate = " in row.counterexample})
)
def test_the_comments_of_recorded_programs_are_up_to_date(name: str) -> None:
    """`python -m tools.claims --reprint` updates them, for example after a changed docstring."""
    programs = [row for row in kept() if row.name == name and "\nstate = " in row.counterexample]
    assert [row.counterexample for row in map(reprinted, programs)] == [
        row.counterexample for row in programs
    ]


@pytest.mark.parametrize("side", SIDES)
def test_one_side_can_be_renewed_alone(side: str) -> None:
    assert {row.side for row in verdicts_of(["model"], [side], PROFILES["pr"])} == {side}


def test_rows_that_are_not_selected_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = kept()
    old = [replace(row, searched="long ago") for row in record]
    removed = next(row for row in old if (row.engine, row.side) == ("model", "inside"))
    monkeypatch.setattr(claim_record, "KEPT", tmp_path / "record.json")
    keep([*old, replace(removed, where="a removed variant")])

    monkeypatch.setattr("sys.argv", ["claims", "--side", "inside", "model"])
    main()

    renewed = [(row.engine, row.side) == ("model", "inside") for row in record]
    expected = [new if again else was for new, was, again in zip(record, old, renewed, strict=True)]
    assert [*map(str, kept())] == [*map(str, expected)]
