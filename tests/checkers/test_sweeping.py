"""A sweep tests every seed once; the verdicts are the same in one process or in several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.histories.analysis import analyze
from checkers.sweeping import Judged, Swept, judge, judged_in_processes, save_run
from model.faults import UnknownName
from reference_impl.node.bugs import bugs_named
from reference_impl.simulation import sweeps
from reference_impl.simulation.runs import Scenario
from reference_impl.simulation.sweeps import SWEEPS

PUBLISH = Swept(sweep="publish")
BUGGY = replace(PUBLISH, bugs=bugs_named("no-dedup"))


def without_times(judged: Judged) -> Judged:
    return replace(judged, cpu_s=0.0)


def test_a_correct_broker_violates_nothing_and_has_observations() -> None:
    judged = judge(PUBLISH, 1)
    assert (judged.occurs, judged.stuck) == ({}, None)
    assert judged.observations["duplicate"] == 80  # two producers, forty values each
    assert judged.broker_steps > 1_000


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("liveness", [False, True], ids=["safety", "liveness"])
def test_no_sweep_of_a_correct_broker_finds_a_violation_and_each_has_observations(
    name: str, liveness: bool
) -> None:
    judged = judge(Swept(sweep=name, liveness=liveness), 2)
    assert (judged.occurs, judged.stuck) == ({}, None)
    sees = {
        "transactions": "torn-transaction",
        "late-ends": "torn-transaction",
        "version-1": "torn-transaction",
        "pipeline": "input-processed-twice",
    }
    assert judged.observations[sees.get(name, "lost-write")] > 0


def test_a_broker_with_a_bug_is_violated_and_its_history_has_the_same_verdict(
    tmp_path: Path,
) -> None:
    judged = judge(BUGGY, 0)
    assert judged.occurs["duplicate"] > 0
    save_run(BUGGY, 0, tmp_path)
    again = analyze(tmp_path / "history")
    assert {d.anomaly.id: d.count for d in again.decisions if d.count} == judged.occurs
    assert (tmp_path / "trace.ndjson").read_text().startswith('{"seq":0,')


def test_a_producer_that_is_not_fenced_writes_as_a_zombie() -> None:
    """In the sweep `transactions`, replaced producers write again; a correct broker refuses."""
    refused = judge(Swept(sweep="transactions"), 0)
    assert refused.occurs == {}
    assert refused.observations["zombie-write"] > 0
    found = judge(Swept(sweep="transactions", bugs=bugs_named("zombie-not-fenced")), 0)
    assert found.occurs["zombie-write"] > 0


def test_several_processes_have_the_verdicts_of_one() -> None:
    seeds = range(3, 7)
    alone = [without_times(judge(BUGGY, seed)) for seed in seeds]
    together = judged_in_processes(BUGGY, seeds, processes=2)
    assert sorted(map(without_times, together), key=lambda it: it.seed) == alone


def test_a_cluster_that_does_not_recover_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = sweeps.Sweep(
        name="hurried", says="no time", scenario=lambda seed: Scenario(seed=seed, recovery_ms=1)
    )
    monkeypatch.setattr(sweeps, "SWEEPS", {"hurried": hurried})
    judged = judge(Swept(sweep="hurried"), 0)
    assert judged.stuck is not None
    assert judged.stuck.startswith("not within 1 ms")
    assert judged.occurs == {}


def test_the_error_for_an_unknown_sweep_lists_the_nearest() -> None:
    with pytest.raises(UnknownName, match="publish"):
        judge(Swept(sweep="publsh"), 0)
