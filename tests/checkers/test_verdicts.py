"""Each verdict has a mark and an exit code, and the worst verdict of a run decides."""

from __future__ import annotations

from typing import get_args

import pytest

from checkers.verdicts import MEANINGS, Verdict, exit_code, verdict_on


def test_every_verdict_has_a_meaning_of_its_own() -> None:
    assert MEANINGS.keys() == set(get_args(Verdict))
    assert len({meaning.mark for meaning in MEANINGS.values()}) == len(MEANINGS)
    assert len({meaning.state for meaning in MEANINGS.values()}) == len(MEANINGS)
    assert all(" " not in meaning.state for meaning in MEANINGS.values())


@pytest.mark.parametrize(
    ("verdicts", "code", "required"),
    [
        (("holds",), 0, 0),
        (("holds", "not exercised"), 0, 3),
        (("not exercised",), 3, 3),
        (("not exercised", "undecided"), 3, 3),
        (("not exercised", "violated"), 1, 1),
        (("holds", "undecided"), 3, 3),
        ((), 3, 3),
    ],
)
def test_a_claim_that_is_not_exercised_fails_a_run_only_if_required(
    verdicts: tuple[Verdict, ...], code: int, required: int
) -> None:
    assert exit_code(verdicts) == code
    assert exit_code(verdicts, require_exercised=True) == required


@pytest.mark.parametrize(
    ("found", "observations", "verdict"),
    [(0, 0, "not exercised"), (0, 1, "holds"), (2, 1, "violated"), (1, 0, "violated")],
)
def test_a_rule_without_observations_is_not_exercised(
    found: int, observations: int, verdict: Verdict
) -> None:
    assert verdict_on(found, observations) == verdict
