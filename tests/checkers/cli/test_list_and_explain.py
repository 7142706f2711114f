"""`urteil list` shows every name of the catalogue, and `urteil explain` explains each name."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from checkers.cli.catalogue import KINDS, named
from checkers.cli.explain import explained
from checkers.events import Listed
from checkers.report.terminal import Terminal
from model.language import Spec
from model.specs import find
from properties.claims.catalogue import BY_ID, CLAIMS
from properties.claims.claim import Decider
from properties.suites.registry import SUITES

HAVE: dict[str, set[str]] = {
    "versions": {"truncate-to-hw", "kip-101", "kip-320", "v1", "v2"},
    "bugs": {"lax-markers", "no-dedup", "truncate-to-high-watermark", "ack-before-replication"},
    "left-out": {"KAFKA-2729", "KAFKA-15021", "redpanda#28360"},
    "properties": {"weak_isr", "strong_isr", "atomic", "lost-write", "duplicate"},
    "claims": {"append_order", "committed_survives", "exactly_once_publish", "ambiguous_send"},
    "suites": {"replication", "elections", "log"},
    "sweeps": {"publish", "machines"},
    "specs": {
        "replication",
        "transactions-abstract",
        "idempotence-abstract",
        "replication-abstract",
    },
    "anomalies": {"offset-order-inversion", "stale-end-offset", "inconsistent-offsets"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_lists_its_rows(call: Any, kind: str) -> None:
    output = call("list", kind)
    listed = output.named("listed")
    assert output.exit_code == 0
    assert {row["name"] for row in listed} >= HAVE[kind]
    assert len({row["kind"] for row in listed}) == 1
    assert all(row["statement"] for row in listed)


def test_every_name_can_be_explained(call: Any) -> None:
    for kind, rows in KINDS.items():
        first = next(rows())
        output = call("explain", first.item)
        assert output.exit_code == 0, kind
        assert any(first.statement[:40] in e["text"] for e in output.named("evidence"))


def test_properties_are_listed_without_tracing_a_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a method of a spec is traced")

    monkeypatch.setattr(Spec, "_call", refuse)
    assert [row.facts["of"] for row in named("strong_isr")] == ["replication"]


@pytest.mark.parametrize("spec", ["replication", "transactions-abstract", "share-group"])
def test_the_listed_properties_are_those_that_the_spec_has(spec: str) -> None:
    made = find(spec).make()
    traced = [(one.name, one.summary) for one in (*made.properties, *made.witnesses)]
    assert [
        (row.item, row.statement) for row in KINDS["properties"]() if row.facts["of"] == spec
    ] == traced


def test_a_spec_in_a_file_is_explained_like_a_built_in_one(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "door.py"
    file.write_text('from model.language import Spec\n\nclass Door(Spec):\n    "It opens."\n')
    output = call("explain", str(file))
    assert output.exit_code == 0
    assert "It opens." in output.named("evidence")[0]["text"]
    assert call("explain", str(tmp_path / "none.py")).exit_code == 2


def test_a_claim_is_explained_with_its_condition_and_its_deciders(call: Any) -> None:
    text = call("explain", "exactly_once_publish").named("evidence")[0]["text"]
    assert "One producer session with acks=all" in text
    assert "suite replication" in text


def test_a_claim_is_listed_with_its_engines_runs_and_counterexample(call: Any) -> None:
    (row,) = [e for e in call("list", "claims").named("listed") if e["name"] == "append_order"]
    assert row["engines"] == ["suite", "model"]
    assert {(run["side"], run["verdict"]) for run in row["inside"]} == {("inside", "holds")}
    assert {(run["side"], run["verdict"]) for run in row["outside"]} == {("outside", "violated")}
    assert "model" in {run["engine"] for run in row["outside"]}
    assert row["counterexample"]
    assert not row["explained"]


def test_a_claim_is_explained_with_its_runs_inside_and_outside_its_condition(call: Any) -> None:
    text = call("explain", "append_order").named("evidence")[0]["text"]
    _, inside, outside, *_ = re.split(r"\n  (?:inside|outside|counterexample)\b", text)
    bounds = "first-sequence, within the bounds of renumbers-backwards"
    assert f"model idempotence.as_it_was_sent, {bounds}: holds, in all 293 states" in inside
    assert "model idempotence.as_it_was_sent, renumbers-backwards: violated" in outside


def test_every_bug_version_and_claim_names_the_releases_of_kafka_that_have_it() -> None:
    for kind in ("versions", "bugs", "claims", "specs"):
        for row in KINDS[kind]():
            assert row.releases, (kind, row.item)
            assert kind == "specs" or row.facts["in_force"], (kind, row.item)


def test_the_releases_are_a_column_of_the_list_and_a_line_of_the_explanation(call: Any) -> None:
    stream = io.StringIO()
    terminal = Terminal(stream)
    for row in KINDS["bugs"]():
        terminal(row)
    assert re.search(
        r"^rejoin-refused +broker +3\.7 to 4\.1 +A KIP-848 group", stream.getvalue(), re.M
    )
    assert re.search(r"^no-dedup +broker +none +A leader", stream.getvalue(), re.M)
    text = call("explain", "min_isr_refuses").named("evidence")[0]["text"]
    assert re.search(r"^  in force +from Kafka 0\.8\.2 to 4\.3$", text, re.M)
    assert (
        "(the high watermark stops since 3.7)"
        in (call("explain", "isr_shrinks").named("evidence")[0]["text"])
    )


def test_a_program_is_explained_line_by_line() -> None:
    facts = {"counterexample": "state = Machine()\nstate.send(count=1)\n", "source": "DOC3"}
    text = explained(Listed(kind="claim", item="a_claim", statement="It holds.", facts=facts))
    assert "  counterexample\n    state = Machine()\n    state.send(count=1)\n  source" in text


def test_a_bug_is_explained_with_its_issue_its_cost_and_its_command(
    call: Any,
) -> None:
    text = call("explain", "joins-before-epoch").named("evidence")[0]["text"]
    assert "joins the ISR before the leader's high watermark" in text
    assert "KAFKA-7128" in text
    assert "A new leader's high watermark may be too low" in text
    assert "strong_isr" in text
    assert "in 11 steps, 115,057 states" in text
    assert "urteil check replication --variant joins-before-epoch --set max_leader_epoch=2" in text


def test_an_issue_number_explains_the_bug(call: Any) -> None:
    text = call("explain", "KAFKA-16147").named("evidence")[0]["text"]
    assert text.startswith("erases-what-comes-back (bug)")


def test_a_bug_that_is_left_out_has_its_reason(call: Any) -> None:
    text = call("explain", "KAFKA-15021").named("evidence")[0]["text"]
    assert text.startswith("KAFKA-15021 (left out)")
    assert "the specs have no time" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "clams"], "no kind 'clams'; the nearest: claims"),
        (["explain", "weak-isr"], "no item 'weak-isr'; the nearest: weak_isr"),
    ],
)
def test_unknown_names_list_the_nearest(call: Any, words: list[str], message: str) -> None:
    output = call(*words)
    assert output.exit_code == 2
    assert message in output.stderr


def test_claims_and_suites_name_each_other() -> None:
    for suite in SUITES.values():
        decided = {side.claim for side in suite.sides}
        expected = {c.id for c in CLAIMS if Decider("suite", suite.name) in c.decided_by}
        assert decided == expected
        assert expected <= BY_ID.keys()


def test_the_deciders_of_a_claim_exist() -> None:
    known = {
        "suite": set(SUITES),
        "history": {row.item for row in KINDS["anomalies"]()},
        "model": {f"{row.facts['of']}.{row.item}" for row in KINDS["properties"]()},
    }
    known["proof"] = known["model"]
    for claim in CLAIMS:
        for decider in claim.decided_by:
            assert decider.name in known[decider.engine], (claim.id, str(decider))


def test_a_version_of_truncation_lists_the_scopes_at_which_it_fails(call: Any) -> None:
    text = " ".join(call("explain", "kip-279").named("evidence")[0]["text"].split())
    assert "holds in all 8,933 states with 2 replicas and 3 leader epochs" in text
    assert "fails in 11 steps with 3 replicas and 2 leader epochs" in text


def test_a_spec_is_explained_with_its_actions_their_fairness_and_its_state_machine(
    call: Any,
) -> None:
    texts = [e["text"] for e in call("explain", "classic-group").named("evidence")]
    (text,) = [t for t in texts if t.startswith("classic-group (spec)")]
    assert "complete_join()  strong" in text
    assert "PREPARING_REBALANCE   --complete_join" in text
    assert "KAFKA-8500" in text
