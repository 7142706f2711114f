"""A baseline lists known violations: they do not fail a run until they expire."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from checkers.over_time.baseline import BadBaseline, read_baseline, written
from checkers.over_time.kept_run import read_run
from checkers.report.decisions import grounds, judged, verdict
from tests.checkers.over_time.written_runs import ONE, TWO, anomaly, claim, write_run

ENTRY = f"""\
# the storage team knows
[[known]]
anomaly = "lost-write"
fingerprint = "{ONE}"
owner = "storage"
reason = "KAFKA-19148"
expires = 2027-03-31
"""


def baseline_file(folder: Path, text: str = ENTRY) -> Path:
    file = folder / "baseline.toml"
    file.write_text(text)
    return file


def test_a_known_violation_does_not_count_until_it_expires(tmp_path: Path) -> None:
    baseline = read_baseline(baseline_file(tmp_path))
    baseline.today = date(2027, 3, 31)
    found = baseline(anomaly())
    assert judged(found, by_expectation=False) == "holds"
    assert verdict(found) == "violated, known"
    assert grounds(found).startswith("known: KAFKA-19148 (storage, until 2027-03-31)")
    baseline.today = date(2027, 4, 1)
    found = baseline(anomaly())
    assert judged(found, by_expectation=False) == "violated"
    assert verdict(found) == "violated"
    assert grounds(found).startswith("no longer known: KAFKA-19148 (storage, until 2027-03-31)")


def test_another_claim_or_fingerprint_is_not_known(tmp_path: Path) -> None:
    baseline = read_baseline(baseline_file(tmp_path))
    for other in (anomaly("duplicate"), anomaly("lost-write", "violated", TWO)):
        assert baseline(other).known == {}
        assert judged(baseline(other), by_expectation=False) == "violated"


def test_a_violation_with_an_additional_shape_fails_with_this_reason(tmp_path: Path) -> None:
    found = read_baseline(baseline_file(tmp_path))(anomaly("lost-write", "violated", ONE, TWO))
    assert judged(found, by_expectation=False) == "violated"
    assert "1 of 2 fingerprints are new" in grounds(found)


def test_an_unexpected_verdict_of_verify_can_be_known(tmp_path: Path) -> None:
    found = read_baseline(baseline_file(tmp_path))(replace(anomaly(), expected="holds"))
    assert judged(found, by_expectation=True) == "holds"


def test_entries_are_known_expired_unmatched_or_not_checked(tmp_path: Path) -> None:
    text = ENTRY + ENTRY.replace("lost-write", "duplicate") + ENTRY.replace("lost-write", "G0")
    text += ENTRY.replace("lost-write", "unseen").replace("2027", "2021")
    baseline = read_baseline(baseline_file(tmp_path, text))
    for found in (anomaly(), anomaly("duplicate", "holds"), anomaly("unseen")):
        baseline(found)
    applied = baseline.result()
    why = "KAFKA-19148 (storage, until 2027-03-31)"
    assert applied.known == (f"lost-write {ONE} (line 2): {why}",)
    assert applied.unmatched == (f"duplicate {ONE} (line 9): {why}",)
    assert applied.not_checked == (f"G0 {ONE} (line 16): {why}",)
    assert applied.expired == (f"unseen {ONE} (line 23): {why.replace('2027', '2021')}",)


@pytest.mark.parametrize(
    ("old", "new", "line", "wrong"),
    [
        ('owner = "storage"', "", 2, 'owner is missing; write owner = "the team that fixes it"'),
        ('"storage"', '" "', 5, "owner is not a text"),
        ('"storage"', "7", 5, "owner is not a text"),
        ("2027-03-31", '"2027-03-31"', 7, "expires is not a date"),
        ("expires = 2027-03-31", "", 2, "expires is missing"),
        (ONE, "111", 4, "has not 16 hexadecimal digits"),
        ("owner", "ower", 5, "no key 'ower' in an entry; the nearest: owner"),
        ('anomaly = "lost-write"', "", 2, "either a claim or an anomaly"),
        ("anomaly", 'claim = "x"\nanomaly', 4, "either a claim or an anomaly"),
        ("[[known]]", "[[know]]", 2, "'know' is unknown; write [[known]]"),
        ("[[known]]", "[known]", 2, "an entry begins with [[known]]"),
        ('"storage"', '"storage', 5, "not TOML"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(
    old: str, new: str, line: int, wrong: str, tmp_path: Path
) -> None:
    text = ENTRY.replace(old, new, 1)
    with pytest.raises(BadBaseline) as fault:
        read_baseline(baseline_file(tmp_path, text))
    assert wrong in str(fault.value)
    assert f"baseline.toml, line {line}: " in str(fault.value)


def test_the_same_entry_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(BadBaseline, match=r"line 9: .* as line 2; remove one"):
        read_baseline(baseline_file(tmp_path, ENTRY + ENTRY))


def test_a_missing_file_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(BadBaseline, match=r"No such file.*write one with urteil baseline RUN"):
        read_baseline(tmp_path / "none.toml")


def test_a_written_baseline_makes_each_violation_known(tmp_path: Path) -> None:
    events = (anomaly(count=3), anomaly("duplicate", "holds"), claim(verdict="violated"))
    run = read_run(write_run(tmp_path, "c3f1", *events))
    expires = date(2099, 1, 1)
    text = written(run, owner='the "log" team', reason="first baseline", expires=expires)
    assert "# 3 found; writer: send ok" in text
    baseline = read_baseline(baseline_file(tmp_path, text))
    assert [one.claim for one in baseline.entries] == ["lost-write", "append_order"]
    assert {one.owner for one in baseline.entries} == {'the "log" team'}
    assert {judged(baseline(one), by_expectation=False) for one in events} == {"holds"}


def test_known_and_permitted_violations_are_not_written_again(tmp_path: Path) -> None:
    known = anomaly(known={ONE: "why"})
    run = read_run(write_run(tmp_path, "c3f1", known, anomaly("duplicate", permitted=True)))
    text = written(run, owner="a", reason="b", expires=date(2099, 1, 1))
    assert "[[known]]" not in text
    assert "no violation that is not known" in text
    assert read_baseline(baseline_file(tmp_path, text)).entries == ()
