"""The record of the claims is made: what is quick is in it as it is made now."""

from __future__ import annotations

import pytest

from benchmarks.claims import SIDES, made
from checkers.claim_record import kept
from properties.suites.profiles import PROFILES


@pytest.mark.parametrize("engine", ["model", "proof"])
def test_the_record_has_what_the_track_record_and_the_proofs_say(engine: str) -> None:
    rows = [str(row) for row in made([engine], SIDES, PROFILES["pr"])]
    assert rows
    assert sorted(rows) == sorted(str(row) for row in kept() if row.engine == engine)


@pytest.mark.parametrize("side", SIDES)
def test_one_side_is_made_alone(side: str) -> None:
    assert {row.side for row in made(["model"], [side], PROFILES["pr"])} == {side}
