"""`urteil verify` runs all checks, or some parts, such as `--only model`.

It compares each verdict with the expected one.
"""

from __future__ import annotations

from typing import Any

from checkers.cli.run import Run
from checkers.cli.verify import ANOMALY_OF_BUG, EXERCISED, exercised
from checkers.histories.analysis import analyze
from checkers.histories.io.operation_rows import as_table
from checkers.verdicts import UNDECIDED, exit_code, is_expected
from model.history_notation import history


def test_the_model_part_has_the_expected_verdicts(call: Any) -> None:
    output = call("verify", "--only", "model")
    decided = output.named("property_decided")
    assert output.exit_code == 0
    assert all(e["verdict"] == e["expected"] for e in decided)
    assert {e["variant"] for e in decided} >= {"truncate-to-hw", "kip-101", "kip-320"}
    assert {e["verdict"] for e in decided} == {"holds", "violated"}


def test_histories_of_real_clients_are_analyzed_on_spark(call: Any) -> None:
    output = call("verify", "--only", "histories")
    decided = output.named("anomaly_decided")
    assert output.exit_code == 0
    properties = {e["property"]: e["verdict"] for e in output.named("property_decided")}
    assert properties == {
        "sends are applied and unanswered": "holds",
        "the recording exercises its anomalies": "holds",
    }
    recorded = {e["anomaly"]: e["verdict"] for e in decided if e["history"] == "recorded"}
    assert {name for name, verdict in recorded.items() if verdict == "holds"} == EXERCISED
    assert {recorded[name] for name in recorded.keys() - EXERCISED} == {"not exercised"}
    violated = {e["anomaly"] for e in decided if e["history"].startswith("bug ")}
    assert violated == set(ANOMALY_OF_BUG.values()) <= recorded.keys()
    assert all(is_expected(e["verdict"], e["expected"]) for e in decided)


def test_a_recording_that_exercises_too_little_is_undecided() -> None:
    run = Run("verify", 0, judged_by_expectation=True)
    emitted: list[Any] = []
    run.reporters.append(emitted.append)
    exercised(run, analyze(as_table(history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0"))))
    (decided,) = emitted
    assert decided.verdict == "undecided"
    missing = decided.reason.removeprefix("not exercised: ").split(", ")
    assert "stale-end-offset" in missing
    assert "duplicate" not in missing
    assert "G1a" not in missing  # it needs a transaction, which no recording of verify has
    assert exit_code(run.decided) == UNDECIDED


def test_a_verdict_that_is_not_the_expected_one_fails_the_job(call: Any, monkeypatch: Any) -> None:
    from checkers.cli import verify

    (wrong, *_) = verify.EXPLORED
    turned = verify.Expectation(
        spec=wrong.spec,
        variant=wrong.variant,
        constants=wrong.constants,
        expected=dict.fromkeys(wrong.expected, "holds"),
    )
    monkeypatch.setattr(verify, "EXPLORED", (turned,))
    output = call("verify", "--only", "model")
    assert output.exit_code == 1


def test_a_release_that_breaks_a_proved_claim_is_shown_by_a_run(
    call: Any, monkeypatch: Any
) -> None:
    from checkers.cli import verify

    rows = [row for row in verify.PROVED if row.spec == "transactions-abstract"]
    monkeypatch.setattr(verify, "PROVED", rows)
    output = call("verify", "--kafka", "3.5", "--only", "proof")
    (decided,) = output.named("property_decided")
    assert decided["property"] == "no_hanging_transaction"
    assert (decided["verdict"], decided["expected"]) == ("violated", "violated")
    assert decided["trace_length"] == 6
    assert output.exit_code == 0


def test_a_release_is_proved_at_default_constants_and_searched_at_the_recorded_ones(
    call: Any, monkeypatch: Any
) -> None:
    from checkers.cli import prove, verify

    proved: list[tuple[str, bool, bool]] = []

    def noted(_: Any, version: Any, spec: Any, *__: Any, at: Any, **___: Any) -> None:
        proved.append((version.name, spec.stops_uncleanly, at["stops_uncleanly"]))

    rows = [row for row in verify.PROVED if row.spec == "reassignment-abstract"]
    monkeypatch.setattr(verify, "PROVED", rows)
    monkeypatch.setattr(prove, "prove", noted)
    call("verify", "--kafka", "4.3", "--only", "proof")
    assert proved == [("kafka-4.3", True, False)]


def test_an_unknown_part_names_the_nearest(call: Any) -> None:
    output = call("verify", "--only", "modle")
    assert output.exit_code == 2
    assert "no part of verify 'modle'; the nearest: model" in output.stderr
