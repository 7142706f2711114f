"""The record of the claims is made: what is quick is in it as it is made now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers import claim_record
from checkers.claim_record import keep, kept
from properties.suites.search.profiles import PROFILES
from tools.claims import SIDES, made, main


@pytest.mark.parametrize("engine", ["model", "proof"])
def test_the_record_has_what_the_track_record_and_the_proofs_say(engine: str) -> None:
    rows = [str(row) for row in made([engine], SIDES, PROFILES["pr"])]
    assert rows
    assert sorted(rows) == sorted(str(row) for row in kept() if row.engine == engine)


@pytest.mark.parametrize("side", SIDES)
def test_one_side_is_made_alone(side: str) -> None:
    assert {row.side for row in made(["model"], [side], PROFILES["pr"])} == {side}


def test_what_is_not_asked_for_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kept()
    old = [replace(row, searched="long ago") for row in record]
    gone = next(row for row in old if (row.engine, row.side) == ("model", "inside"))
    monkeypatch.setattr(claim_record, "KEPT", tmp_path / "record.json")
    keep([*old, replace(gone, where="a variant that there was")])

    monkeypatch.setattr("sys.argv", ["claims", "--side", "inside", "model"])
    main()

    again = [(row.engine, row.side) == ("model", "inside") for row in record]
    expected = [new if anew else was for new, was, anew in zip(record, old, again, strict=True)]
    assert [*map(str, kept())] == [*map(str, expected)]
