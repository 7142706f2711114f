"""`--kafka RELEASE` checks the rules of a Kafka release, and names rules that fix a violation."""

from __future__ import annotations

from typing import Any

import pytest


def rows(output: Any) -> list[tuple[Any, ...]]:
    return [
        (e["claim"], e["verdict"], e["variant"], e["steps"], e["fixed_by"], e["fixed_verdict"])
        for e in output.named("release_decided")
    ]


def test_a_claim_is_false_of_the_release_and_true_of_the_fix(call: Any) -> None:
    output = call("check", "retention", "--kafka", "4.3")
    assert output.exit_code == 1
    assert rows(output) == [
        ("log_start_is_committed", "holds", "kafka-4.3", None, None, None),
        ("latest_values_are_kept", "violated", "kafka-4.3", 8, "kip-107", "holds"),
        ("deleted_stays_deleted", "violated", "waits-for-the-live", 7, "with-elr", "holds"),
        ("log_starts_grow", "holds", "kafka-4.3", None, None, None),
    ]
    assert "retention kafka-4.3: from Kafka 3.5 to 4.3" in output.stderr


def test_the_table_has_a_line_for_each_false_claim_and_one_for_the_rest(call: Any) -> None:
    output = call("check", "retention", "--kafka", "4.3", json_events=False)
    table = output.stdout[output.stdout.rindex("\nKafka 4.3") :].splitlines()[1:-1]
    assert table == [
        "Kafka 4.3",
        "  retention",
        "    ✗ latest_values_are_kept  violated in kafka-4.3, 8 steps           holds in kip-107",
        "    ✗ deleted_stays_deleted   violated in waits-for-the-live, 7 steps  holds in with-elr",
        "    ✓ 2 claims hold in kafka-4.3",
    ]


def test_a_bug_of_the_release_has_a_row_of_its_own(call: Any) -> None:
    output = call("check", "transactions-abstract", "--kafka", "4.3", "--property", "faithful")
    assert rows(output) == [("faithful", "violated", "skips-marker", 9, "v2", "holds")]


def test_a_version_that_holds_is_explored_at_the_constants_of_its_row(call: Any) -> None:
    """At its default constants, the version for Kafka 3.9 has more than ten million states."""
    output = call("check", "coordinator-abstract", "--kafka", "3.9")
    false = [row for row in rows(output) if row[1] != "holds"]
    assert false == [
        ("faithful", "violated", "believes-late-records", 15, "kip-1228", "holds"),
        ("no_hanging_transaction", "violated", "confirms-after-failover", 13, "kip-1228", "holds"),
        ("the_client_decides", "violated", "believes-late-requests", 17, "kip-1228", "holds"),
    ]
    assert output.exit_code == 1


def test_without_a_spec_all_specs_are_checked_in_brief(call: Any) -> None:
    words = ("check", "--kafka", "2.6", "--property", "the_next_*", "--property", "weak_isr")
    output = call(*words)
    assert output.exit_code == 1
    decided = [row for row in rows(output) if row[0] is not None]
    assert decided == [
        ("weak_isr", "holds", "kip-320", None, None, None),
        ("the_next_is_accepted", "violated", "kip-360", 3, "first-sequence", "holds"),
    ]
    assert "not known whether Kafka 2.6 has keeps-sequences: from an unknown" in output.stderr
    why = {e["spec"]: e["reason"] for e in output.named("release_decided") if e["reason"]}
    assert why["consumer-group"] == "there were no groups of KIP-848"
    assert {e["expected"] for e in output.named("evidence")} == {True}


def test_prove_proves_the_fix_where_the_release_fails(call: Any) -> None:
    output = call("prove", "transactions-abstract", "--kafka", "3.5")
    assert output.exit_code == 1
    verdicts = {
        (e["variant"], e["property"]): e["verdict"] for e in output.named("property_decided")
    }
    assert verdicts["v1", "no_hanging_transaction"] == "violated"
    assert verdicts["v2", "no_hanging_transaction"] == "holds"


def test_verify_compares_the_verdicts_of_a_release_with_the_recorded_ones(call: Any) -> None:
    output = call("verify", "--kafka", "0.10.2")
    assert output.exit_code == 0
    assert [row[:3] for row in rows(output) if row[0]] == [
        ("weak_isr", "violated", "truncate-to-hw"),
        ("log_matching", "violated", "truncates-on-either-side"),
        ("strong_isr", "violated", "joins-before-epoch"),
    ]


def test_export_writes_the_version_of_the_release(call: Any, tmp_path: Any) -> None:
    output = call("export", "replication", "--kafka", "1.1", "--to", str(tmp_path))
    assert output.exit_code == 0
    assert (tmp_path / "Kip101.tla").exists()


def test_list_leaves_out_the_bugs_that_the_release_does_not_have(call: Any) -> None:
    listed = {e["name"] for e in call("list", "bugs", "--kafka", "4.3").named("listed")}
    assert "snapshot-keeps-newest" in listed
    assert "window-of-one" not in listed
    specs = {
        e["name"]: e["statement"] for e in call("list", "specs", "--kafka", "3.4").named("listed")
    }
    assert specs["retention"].startswith("no version: the rule for joining the ISR")
    assert "not known of " in call("list", "bugs", "--kafka", "3.0").stderr


def test_explain_names_the_version_that_has_the_rules_of_the_release(call: Any) -> None:
    def text(*words: str) -> str:
        return "".join(e["text"] for e in call("explain", *words).named("evidence"))

    rules = "version kafka-4.3, from Kafka 4.0 to 4.3 (reproduced on a real controller of 4.3)"
    assert rules in text("quorum", "--kafka", "4.3")
    assert "no version of retention has the rules of Kafka 2.0" in text(
        "retention", "--kafka", "2.0"
    )
    assert "does not have it" in text("window-of-one", "--kafka", "4.3")


def test_a_default_that_no_release_has_names_the_version_of_the_newest_release(call: Any) -> None:
    output = call("check", "retention", "--property", "log_starts_grow")
    assert "Kafka 4.3 has the version kafka-4.3: --kafka 4.3" in output.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["check", "consumer-group", "--kafka", "4.0"], "no version of consumer-group has the"),
        (["check", "quorum", "--kafka", "9.9"], "no release of Kafka '9.9'; the nearest:"),
        (["check", "--kafka", "4.3", "--variant", "v1"], "both choose the rules"),
        (["check", "--kafka", "4.3", "--set", "replicas=3"], "constants differ by spec: name a"),
        (["check", "retention", "--kafka", "4.3", "--property", "x"], " has no property 'x'"),
        (["list", "suites", "--kafka", "4.3"], "name a kind that has releases"),
        (["verify", "--kafka", "4.3", "--only", "suite"], "it tests the reference broker"),
        (["verify", "--kafka", "9.9"], "no release of Kafka '9.9'"),
        (["explain", "quorum", "--kafka", "9.9"], "no release of Kafka '9.9'"),
    ],
)
def test_a_wrong_release_is_a_usage_error(call: Any, words: list[str], why: str) -> None:
    output = call(*words)
    assert output.exit_code == 2
    assert why in output.stderr
