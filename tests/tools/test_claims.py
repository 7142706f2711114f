"""The recorded verdicts of claims equal what `tools.claims` computes, where this is quick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers import claim_record
from checkers.claim_record import keep, kept
from properties.suites.search.profiles import PROFILES
from tools.claims import SIDES, main, verdicts_of


@pytest.mark.parametrize("engine", ["model", "proof"])
def test_the_rows_of_models_and_proofs_are_up_to_date(engine: str) -> None:
    rows = [str(row) for row in verdicts_of([engine], SIDES, PROFILES["pr"])]
    assert rows
    assert sorted(rows) == sorted(str(row) for row in kept() if row.engine == engine)


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
