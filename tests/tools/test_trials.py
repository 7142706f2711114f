"""`tools.trials` keeps the record of trials, and writes docs/trials.md from the record."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from properties.claims.catalogue import CLAIMS
from properties.suites.machines.driven import Power
from properties.suites.registry import SUITES
from properties.suites.suite import Suite
from tools.trials import record
from tools.trials.__main__ import open_sides
from tools.trials.page import PAGE, page
from tools.trials.record import Decided, keep, kept, merged
from tools.trials.unbroken import BECAUSE, SUBJECT

ROW = Decided(
    system="apache-kafka:9.9.9",
    suite="log",
    claim="consumer_order",
    side="inside",
    setting="several",
    verdict="violated",
    expected="holds",
    why="a|b",
    trials=3,
    seconds=12.0,
    again="2 of 3 runs",
    program=("state.heal()",),
    day="2026-11-23",
)
OPTIONS = argparse.Namespace(again=False, side=None, claim=[])


def test_the_page_is_written_from_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


def test_a_verdict_that_was_not_expected_stands_out_and_is_counted() -> None:
    lines = page((ROW,)).splitlines()
    assert "| apache-kafka:9.9.9 | 1 of 47 | 0 of 47 | 1 | 3 | 0 |" in lines
    assert "| log | consumer_order | **violated**, not tried |" in lines
    assert "| log | any_offset_readable | not tried, not tried |" in lines
    assert "| transactions | transactional_implies_idempotent | not tried, none |" in lines
    assert (
        "| consumer_order | inside: several | **violated** | a\\|b | 3 in 12 s | 2 of 3 runs |"
    ) in lines


def test_claims_that_held_in_the_same_trials_share_a_row_and_their_trials_count_once() -> None:
    held = replace(ROW, verdict="holds", why="no counterexample", again="", program=())
    other = replace(held, claim="any_offset_readable", tried=("kill",), untried=("cut",))
    lines = page((held, other)).splitlines()
    assert "| apache-kafka:9.9.9 | 2 of 47 | 0 of 47 | 0 | 3 | 0 |" in lines
    assert [line for line in lines if "no counterexample" in line] == [
        "| any_offset_readable, consumer_order | inside: several | holds | no counterexample |"
        " 3 in 12 s |  |"
    ]
    assert "Faults of brokers that the drawn trials had: kill." in lines
    assert "Faults that no trial had: cut." in lines


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_each_claim_breaks_outside_its_condition_on_apache_kafka_or_has_a_reason(
    suite: Suite,
) -> None:
    broken = {
        row.claim
        for row in kept()
        if (row.system, row.suite, row.side) == (SUBJECT, suite.name, "outside")
        and row.verdict == "violated"
    }
    explained = {claim for name, claim in BECAUSE if name == suite.name}
    assert broken | explained == {*suite.claims}
    assert not broken & explained


def test_a_claim_that_no_suite_decides_has_its_explanation() -> None:
    alone = [line for line in page(()).splitlines() if line.startswith("| none |")]
    deciding = {claim for suite in SUITES.values() for claim in suite.claims}
    others = [claim for claim in CLAIMS if claim.id not in deciding]
    assert alone == [f"| none | {claim.id} |  | {claim.explained} |  |  |" for claim in others]
    assert all(claim.explained for claim in others)


def test_violations_of_trials_are_listed_with_the_options_that_repeat_them() -> None:
    row = replace(
        ROW,
        system=SUBJECT,
        side="outside",
        setting="one instance",
        expected="violated",
        tried=(Power.CUT.value,),
        settings=("a=1",),
    )
    options = "`--proxied --faults --broker-config a=1`"
    start = "| log | consumer_order | one instance |"
    assert f"{start} a\\|b | 2 of 3 runs | {options} |" in page((row,)).splitlines()
    never = replace(row, why="no run", program=(), again="", tried=(), settings=())
    lines = page((never,)).splitlines()
    assert f"{start} no run in 3 trials |  |  |" in lines
    assert "| log | any_offset_readable |  | not tried yet |  |  |" in lines


def test_an_undecided_side_is_listed_with_its_reason() -> None:
    row = replace(ROW, verdict="undecided", why="no such fault", again="", program=(), trials=0)
    lines = page((row,)).splitlines()
    assert "| log | consumer_order | undecided, not tried |" in lines
    assert "| consumer_order | inside: several | no such fault | 0 |" in lines
    assert not [line for line in lines if line == "### log"]


def test_a_row_is_kept_and_replaced_by_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "KEPT", tmp_path / "record.json")
    assert kept() == ()
    newer = replace(ROW, trials=4)  # a violation: its trials are not added
    keep(merged((ROW,), (newer,)))
    assert kept() == (newer,)


def test_trials_that_broke_nothing_add_up_if_they_had_the_same_faults() -> None:
    row = replace(ROW, verdict="holds", why="no counterexample", again="", program=())
    (both,) = merged((row,), (replace(row, trials=2, seconds=5.0),))
    assert (both.trials, both.seconds) == (5, 17.0)
    more = replace(row, trials=2, tried=("kill brokers",))
    assert merged((row,), (more,)) == (more,)
    assert merged((row,), (replace(row, verdict="undecided"),)) == (row,)


def test_an_unexpected_verdict_links_to_its_finding_and_keeps_the_link() -> None:
    found = replace(ROW, finding="stale-elr-member")
    assert "a\\|b: [finding](findings/stale-elr-member.md)" in page((found,))
    (again,) = merged((found,), (replace(ROW, trials=9),))
    assert (again.finding, again.trials) == ("stale-elr-member", 9)
    for row in kept():
        page_of = PAGE.parent / "findings" / f"{row.finding}.md"
        assert not row.finding or page_of.exists()


def test_only_sides_without_a_row_and_without_a_bug_are_decided() -> None:
    suite = SUITES["log"]
    system = "none such"
    sides = [side for group in open_sides(suite, system, OPTIONS) for side in group]
    assert sorted(map(str, sides)) == sorted(str(side) for side in suite.sides if not side.bugs)
    left = open_sides(suite, "apache-kafka:4.3.0", OPTIONS)
    assert not {(side.claim, side.setting) for group in left for side in group}.intersection(
        (row.claim, row.setting)
        for row in kept()
        if (row.system, row.suite) == ("apache-kafka:4.3.0", "log") and row.verdict != "undecided"
    )


def test_the_record_has_claims_and_settings_of_the_suites() -> None:
    for row in kept():
        suite = SUITES[row.suite]
        assert any(
            (side.claim, side.setting, side.expected) == (row.claim, row.setting, row.expected)
            for side in suite.sides
        ), row
