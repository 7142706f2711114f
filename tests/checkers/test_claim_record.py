"""Each claim has recorded verdicts, or a recorded reason why a verdict is missing.

The record also has counterexamples. A counterexample is a program (the calls of one run) or a
command `urteil sweep`. The tests run each counterexample again, and it must show the same
violation.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from checkers.claim_record import Decided, kept
from checkers.sweeping import Swept, judge
from properties.claims.catalogue import BY_ID, CLAIMS
from properties.claims.claim import Claim, Decider
from properties.suites.machines.judged import Shown
from properties.suites.registry import SUITES
from properties.suites.suite import Side, Suite
from reference_impl.node.bugs import bugs_named
from reference_impl.node.seeded_bugs import SEEDED_BUGS
from reference_impl.simulation.sweeps import SWEEPS

RECORD = kept()
PROGRAMS = [run for run in RECORD if "\n" in run.counterexample and run.side == "outside"]
SWEPT = [run for run in RECORD if run.counterexample.startswith("urteil sweep ")]


def runs(claim: Claim, side: str) -> list[Decided]:
    return [run for run in RECORD if (run.claim, run.side) == (claim.id, side)]


def is_decided(claim: Claim, side: str) -> bool:
    return bool(runs(claim, side))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_each_side_of_a_claim_is_decided_or_explained(claim: Claim) -> None:
    both = is_decided(claim, "inside") and is_decided(claim, "outside")
    assert both != bool(claim.explained), (
        "a claim needs `explained` if and only if no engine decides one of its sides"
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_broken_claim_has_a_counterexample(claim: Claim) -> None:
    # A claim that something can happen has an example inside its condition.
    broken = runs(claim, "outside")
    assert not broken or any(run.counterexample for run in (*broken, *runs(claim, "inside")))


def test_each_run_is_of_a_decider_of_its_claim() -> None:
    for run in RECORD:
        assert Decider(*run.decider) in BY_ID[run.claim].decided_by, str(run)


def test_claims_hold_inside_and_are_violated_outside() -> None:
    for run in RECORD:
        assert run.verdict == ("holds" if run.side == "inside" else "violated"), str(run)


def test_outside_a_suite_finds_the_violation_on_ten_seeds_of_ten() -> None:
    for run in RECORD:
        if (run.engine, run.side) == ("suite", "outside"):
            seeds = re.match(r"on (\d+) seeds of (\d+)", run.searched)
            assert seeds is not None, str(run)
            assert seeds[1] == seeds[2] == "10", str(run)


RECORDED = {run.name for run in RECORD if run.engine == "suite"}


@pytest.mark.parametrize("suite", [SUITES[name] for name in sorted(RECORDED)], ids=lambda s: s.name)
def test_every_side_of_a_suite_is_in_the_record(suite: Suite) -> None:
    def key(side: Side) -> tuple[str, str]:
        return side.claim, str(side).partition(" ")[2].strip("()")

    for name, sides in (("inside", suite.inside), ("outside", suite.outside)):
        made = {(r.claim, r.where) for r in RECORD if (r.name, r.side) == (suite.name, name)}
        assert made == {*map(key, sides)}


HISTORIES = [
    pytest.param(claim, decider.name, id=f"{claim.id}: {decider.name}")
    for claim in CLAIMS
    for decider in claim.decided_by
    if decider.engine == "history"
]


@pytest.mark.parametrize(("claim", "anomaly"), HISTORIES)
def test_history_analysis_is_recorded_for_correct_brokers_and_for_each_bug_that_it_catches(
    claim: Claim, anomaly: str
) -> None:
    def where(side: str) -> set[str]:
        return {run.where for run in runs(claim, side) if run.decider == ("history", anomaly)}

    catches = [row for row in SEEDED_BUGS if "history analysis" in row.caught_by]
    assert where("inside"), "no sweep has an observation"
    assert where("inside") <= {f"sweep {name}" for name in SWEEPS}
    assert where("outside") == {f"bug {row.name}" for row in catches if anomaly in row.breaks}


@pytest.mark.parametrize("run", SWEPT, ids=lambda run: f"{run.claim}: {run.name}, {run.where}")
def test_a_sweep_of_the_record_shows_its_anomaly_again(run: Decided) -> None:
    command = re.fullmatch(r"urteil sweep (\w+) --seeds (\d+) --bug ([\w-]+)", run.counterexample)
    assert command is not None
    assert run.name in anomalies_of(command[1], int(command[2]), command[3])


@cache
def anomalies_of(sweep: str, seed: int, bug: str) -> set[str]:
    return {*judge(Swept(sweep=sweep, bugs=bugs_named(bug)), seed).occurs}


def shows(run: Decided) -> str:
    return run.name if run.engine == "history" else run.claim


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda run: f"{run.name}: {run.claim} {run.where}")
def test_a_program_of_the_record_fails_again(run: Decided) -> None:
    with pytest.raises(Shown, match=f"^{shows(run)}: "):
        exec(run.counterexample, {})


WITH_ANOMALIES = [run for run in PROGRAMS if run.engine == "history"]


@pytest.mark.parametrize("run", WITH_ANOMALIES, ids=lambda run: f"{run.name}: {run.where}")
def test_without_its_bug_a_program_shows_no_anomaly(run: Decided) -> None:
    right, times = re.subn(r", bugs=bugs_named\([^)]*\)", "", run.counterexample)
    assert times == 1
    exec(right, {})
