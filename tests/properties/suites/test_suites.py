"""In every suite, each claim holds under its stated condition and is broken without it."""

from __future__ import annotations

import pytest

from properties.claims.catalogue import BY_ID
from properties.claims.claim import Decider
from properties.suites.machines.judged import Shown
from properties.suites.registry import SUITES
from properties.suites.search.deciding import decide, run
from properties.suites.suite import Side, Suite, inside, outside
from reference_impl.node.seeded_bugs import SEEDED_BUGS

EVERY = [pytest.param(suite, id=suite.name) for suite in SUITES.values()]
OUTSIDE = [
    pytest.param(suite, side, id=f"{suite.name}: {side}")
    for suite in SUITES.values()
    for side in suite.outside
]


@pytest.mark.parametrize("suite", EVERY)
def test_inside_their_conditions_all_claims_hold_and_every_goal_is_shown(suite: Suite) -> None:
    progress: list[int] = []
    result = run(suite, runs=60, progress=lambda tally: progress.append(tally.runs))
    assert {verdict.claim: verdict.outcome for verdict in result.verdicts} == dict.fromkeys(
        [side.claim for side in suite.inside], "holds"
    )
    assert result.violated == ()
    assert result.runs == progress[-1]
    programs = [program for verdict in result.verdicts for program in verdict.programs]
    shown = [goal for side in suite.inside for goal in suite.sometimes.get(side.claim, ())]
    assert len(programs) == len(shown)
    for program in programs:
        with pytest.raises(Shown):
            exec(program, {})


@pytest.mark.parametrize(("suite", "side"), OUTSIDE)
def test_outside_its_condition_a_claim_is_broken_by_a_program_that_fails_again(
    suite: Suite, side: Side
) -> None:
    # A search that finds nothing takes all its runs: fewer here. The record has shrunk programs.
    verdict = decide(suite, side, runs=20 if side.claim in suite.sometimes else 200, shrinks=False)
    assert verdict.outcome == side.expected == "violated"
    for program in verdict.programs:
        assert program.endswith(f"\n# Broken: {side.claim}: {verdict.why}\n")
        for _ in range(2):  # the first run leaves no state behind
            with pytest.raises(Shown) as shown:
                exec(program, {})
            assert str(shown.value) == f"{side.claim}: {verdict.why}"


def test_a_goal_that_no_run_reaches_violates_a_claim_only_outside_its_condition() -> None:
    outcomes = {}
    for of in (inside, outside):
        side = of("order_is_per_partition", "several", "one partition has one order")
        verdict = decide(SUITES["log"], side, runs=2)
        outcomes[of] = (verdict.outcome, verdict.why)
    missing = "no run that shows 'read in another order than sent' in"
    assert outcomes == {
        inside: ("undecided", f"{missing} 20 runs of 16 rules (seed 0)"),
        outside: ("violated", f"{missing} 2 runs of 16 rules (seed 0)"),
    }


@pytest.mark.parametrize("suite", EVERY)
def test_each_claim_of_a_suite_has_two_sides_and_a_literal_definition(suite: Suite) -> None:
    claims = {side.claim for side in suite.inside}
    assert claims == {side.claim for side in suite.outside} == {*suite.always, *suite.sometimes}
    assert suite.always.keys().isdisjoint(suite.sometimes)
    named = {claim for claim in BY_ID if Decider("suite", suite.name) in BY_ID[claim].decided_by}
    assert named == claims


@pytest.mark.parametrize("suite", EVERY)
def test_a_bug_names_the_suites_that_catch_it(suite: Suite) -> None:
    caught = {row.bug for row in SEEDED_BUGS if f"suite {suite.name}" in row.caught_by}
    assert caught <= {bug for side in suite.outside for bug in side.bugs}
