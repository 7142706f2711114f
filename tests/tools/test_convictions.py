"""A campaign plants bugs and faults, and looks for anomalies that they do not explain."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from model.histories import Send
from properties.anomalies.assumptions import repeated_values
from properties.anomalies.catalogue import BY_ID
from reference_impl.node.bugs import Bug
from reference_impl.node.seeded_bugs import SEEDED_BUGS
from reference_impl.protocol import controller, messages, transactions
from reference_impl.simulation.runs import Run, Scenario, run
from reference_impl.simulation.world import NoProgress
from tools.convictions.__main__ import main
from tools.convictions.campaign import Unraised, analysis, conduct, defects, outcomes, unraised
from tools.convictions.cases import APIS, Case, cases
from tools.convictions.effects import EFFECTS, FAULT_EFFECTS
from tools.convictions.page import PAGE, page
from tools.convictions.record import Outcome, Tally, keep, kept
from tools.convictions.workloads import WORKLOADS

BY_NAME = {case.name: case for case in cases()}
SLICE = (
    "publish/clean",
    "publish/fault/crash",
    "publish/network/overtaking",
    "publish/bug/no-dedup",
    "publish/bug/zero-offset-ack",
    "transactions/bug/last-stable-offset-read",
)


def test_every_seeded_bug_is_planted_in_every_workload() -> None:
    planted = {(case.workload, case.planted) for case in BY_NAME.values() if case.kind == "bug"}
    everywhere = {
        (workload, row.name)
        for workload in ("publish", "transactions", "pipeline")
        for row in SEEDED_BUGS
    }
    late = {(name, bug.value) for name, one in WORKLOADS.items() for bug in one.shows}
    assert planted == everywhere | late
    controls = {case.workload for case in BY_NAME.values() if case.kind == "control"}
    assert controls == {"late-ends", "late-markers", "late-records"}
    assert all(case.explained <= BY_ID.keys() for case in BY_NAME.values())
    for table in (EFFECTS, FAULT_EFFECTS):
        assert {name for effects in table.values() for name in effects} <= BY_ID.keys()


def test_only_a_bug_or_an_isolated_leader_explains_an_anomaly() -> None:
    others = [case for case in BY_NAME.values() if case.kind != "bug" and case.explained]
    assert {(case.kind, case.planted) for case in others} == {("fault", "isolate")}
    assert "poll-skip" not in BY_NAME["publish/bug/no-dedup"].explained
    assert "poll-skip" in BY_NAME["publish/bug/lost-append"].explained


def test_histories_raise_nothing_that_their_fault_does_not_explain() -> None:
    some = [(BY_NAME[name], 0) for name in SLICE]
    together = conduct(some)
    for (case, seed), outcome in zip(some, together, strict=True):
        assert (outcome.case, outcome.seed) == (case.name, seed)
        assert set(outcome.raised) <= case.explained
        assert outcome.verdict == ("violated" if case.kind == "bug" else "holds")


def test_a_history_in_a_batch_has_the_outcome_that_it_has_alone() -> None:
    some = [(BY_NAME[name], 1) for name in SLICE]
    together = conduct(some)
    assert together == [outcome for one in some for outcome in conduct([one])]
    for (case, seed), outcome in zip(some, together, strict=True):
        alone = analysis(case, seed)
        violated = [d for d in alone.decisions if d.verdict == "violated" and not d.permitted]
        assert outcome.verdict == alone.verdict
        assert outcome.raised == tuple(d.anomaly.id for d in violated)


def test_a_broken_assumption_hides_only_its_own_history(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [(BY_NAME["publish/clean"], 0), (BY_NAME["publish/bug/no-dedup"], 0)]

    def twice(scenario: Scenario) -> Run:
        made = run(scenario)
        if scenario.bugs:
            return made
        return replace(made, history=(*made.history, made.history[0]))

    monkeypatch.setattr("tools.convictions.campaign.run", twice)
    broken, sound = conduct(some)
    assert (broken.verdict, broken.raised) == ("assumptions broken", ())
    assert (sound.verdict, sound.raised) == ("violated", ("duplicate",))


def tallied(case: Case, outcome: Outcome) -> dict[str, Tally]:
    tally = Tally(case=case.name)
    tally.add(outcome)
    return {case.name: tally}


def test_an_anomaly_that_nothing_explains_is_a_defect() -> None:
    case = BY_NAME["publish/bug/no-dedup"]
    found = Outcome(case=case.name, seed=7, verdict="violated", raised=("duplicate", "poll-skip"))
    (defect,) = defects([case], tallied(case, found))
    assert (defect.symptom, defect.histories, defect.first_seed) == ("poll-skip", 1, 7)
    unexplained = replace(case, explained=frozenset())
    assert len(list(defects([unexplained], tallied(case, found)))) == 2
    assert "shows poll-skip in 1 histories, first at seed 7" in page([case], tallied(case, found))


@pytest.mark.parametrize("verdict", ["assumptions broken", "no progress", "nothing checked"])
def test_a_verdict_that_judges_no_anomaly_is_a_defect(verdict: str) -> None:
    case, bug = BY_NAME["publish/fault/crash"], BY_NAME["publish/bug/no-dedup"]
    (defect,) = defects([case], tallied(case, Outcome(case=case.name, seed=7, verdict=verdict)))
    assert (defect.symptom, defect.histories, defect.first_seed) == (verdict, 1, 7)
    of_bug = list(defects([bug], tallied(bug, Outcome(case=bug.name, seed=7, verdict=verdict))))
    assert bool(of_bug) is (verdict != "no progress")  # a bug may stop a cluster


def test_anomalies_that_a_bug_promises_and_never_raises_are_listed() -> None:
    some = [BY_NAME["publish/bug/lost-append"], BY_NAME["late-ends/bug/delayed-end-accepted"]]
    found: dict[str, Tally] = {}
    for case, raised in zip(some, ("lost-write", "open-transaction-read"), strict=True):
        of_case = Outcome(case=case.name, seed=0, verdict="violated", raised=(raised,))
        found |= tallied(case, of_case)
    (missing,) = unraised(some, found)
    assert missing == Unraised(bug="delayed-end-accepted", anomalies=("G1a",), histories=1)
    assert "| delayed-end-accepted | 1 | G1a |" in page(some, found)
    assert list(unraised(some, {})) == []


def test_planted_message_faults_name_requests_that_exist() -> None:
    for api in APIS:
        assert any(hasattr(of, api) for of in (controller, messages, transactions)), api


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("pipeline/fault/crash", 17),
        ("pipeline/fault/power-loss", 42),
        ("pipeline/bug/no-dedup", 1),
    ],
)
def test_an_order_that_is_billed_again_has_another_invoice(name: str, seed: int) -> None:
    """After a transaction with an unknown outcome, or with a bug that appends an order twice."""
    history = run(BY_NAME[name].scenario(seed)).history
    assert repeated_values(history) == ()
    billed = [
        did.value.partition(" for ")[2]
        for operation in history
        if operation.outcome != "fail"
        for did in operation.did
        if isinstance(did, Send) and did.key == "invoices-0"
    ]
    assert len(billed) > len({*billed})


def test_a_pipeline_without_verification_progresses_in_version_1_only() -> None:
    case = BY_NAME["pipeline/bug/late-produce-accepted"]
    (outcome,) = conduct([(case, 0)])
    assert outcome.verdict == "holds"
    stuck = replace(case.of.scenario(0, case.of.version), bugs=case.scenario(0).bugs)
    with pytest.raises(NoProgress):
        run(replace(stuck, recovery_ms=3_000))


def test_a_campaign_goes_on_where_its_record_ends(tmp_path: Path) -> None:
    case, file = BY_NAME["publish/clean"], tmp_path / "record.json"
    other = BY_NAME["publish/network/loss"]
    tally = Tally(case=case.name)
    tally.add(Outcome(case=case.name, seed=0, verdict="holds"))
    tally.add(Outcome(case=case.name, seed=1, verdict="violated", raised=("duplicate",)))
    keep([tally], file)
    assert kept(file) == {case.name: tally}
    assert kept(tmp_path / "none.json") == {}
    until = time.monotonic() + 0.01
    done = [
        (it.case, it.seed)
        for it in outcomes([case, other], kept(file), until=until, jobs=1, batch=4)
    ]
    assert done == [(other.name, 0), (other.name, 1), (case.name, 2), (other.name, 2)]


def test_one_history_of_a_case_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "publish/bug/no-dedup", "--seed", "0"]) == 0
    assert "✗ duplicate" in capsys.readouterr().out


def test_the_kept_record_has_no_defect_and_its_page_is_up_to_date() -> None:
    record = kept()
    assert list(defects(cases(), record)) == []
    assert PAGE.read_text(encoding="utf-8") == page(cases(), record)
    assert Bug.NO_DEDUP.value in PAGE.read_text(encoding="utf-8")


def test_an_isolated_leader_returns_an_old_end() -> None:
    found = analysis(BY_NAME["pipeline/fault/isolate"], 21)
    violated = [it.anomaly.id for it in found.decisions if it.verdict == "violated"]
    assert violated == ["stale-end-offset"]
