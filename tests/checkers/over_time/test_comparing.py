"""Two runs are compared by claim and fingerprint: what is new, gone or changed."""

from __future__ import annotations

from pathlib import Path

from checkers.events import Event, VerdictCompared
from checkers.over_time.comparing import compared, is_failure
from checkers.over_time.kept_run import read_run
from checkers.report.terminal import difference
from tests.checkers.over_time.written_runs import ONE, THREE, TWO, anomaly, claim, write_run


def diff(folder: Path, before: list[Event], after: list[Event]) -> tuple[VerdictCompared, ...]:
    runs = (write_run(folder, n, *events) for n, events in (("aaaa", before), ("bbbb", after)))
    earlier, later = map(read_run, runs)
    return compared(earlier, later)


def in_short(found: tuple[VerdictCompared, ...]) -> list[str]:
    return [f"{one.change} {one.claim}: {one.before} -> {one.after}" for one in found]


def test_equal_runs_have_no_difference(tmp_path: Path) -> None:
    both: list[Event] = [anomaly(), anomaly("duplicate", "holds"), claim()]
    assert diff(tmp_path, both, both) == ()


def test_a_violation_that_was_not_there_is_new_and_fails(tmp_path: Path) -> None:
    (one,) = diff(tmp_path, [anomaly(verdict="holds")], [anomaly()])
    assert in_short((one,)) == ["new lost-write: holds -> violated"]
    assert is_failure(one)
    assert one.fingerprints == {ONE: "writer: send ok"}


def test_another_shape_of_the_same_anomaly_is_new_and_the_old_one_gone(tmp_path: Path) -> None:
    found = diff(tmp_path, [anomaly("a", "violated", ONE)], [anomaly("a", "violated", TWO)])
    assert [(one.change, *one.fingerprints) for one in found] == [("new", TWO), ("gone", ONE)]
    assert [is_failure(one) for one in found] == [True, False]


def test_an_additional_shape_is_the_only_new_one(tmp_path: Path) -> None:
    found = diff(tmp_path, [anomaly("a", "violated", ONE)], [anomaly("a", "violated", ONE, THREE)])
    assert [(one.change, *one.fingerprints) for one in found] == [("new", THREE)]


def test_a_violation_that_holds_now_is_gone(tmp_path: Path) -> None:
    found = diff(tmp_path, [claim(verdict="violated")], [claim()])
    assert in_short(found) == ["gone append_order: violated -> holds"]
    assert not any(map(is_failure, found))


def test_a_claim_that_one_run_lacks_is_not_in_the_run(tmp_path: Path) -> None:
    found = [*map(difference, diff(tmp_path, [anomaly(verdict="holds")], [claim()]))]
    assert "append_order             not in the earlier run → holds" in found[0]
    assert "lost-write               holds → not in the later run" in found[1]


def test_another_count_or_verdict_is_a_change(tmp_path: Path) -> None:
    before: list[Event] = [anomaly(count=3), claim()]
    after: list[Event] = [anomaly(count=5), claim(verdict="undecided")]
    found = diff(tmp_path, before, after)
    assert in_short(found) == [
        "changed lost-write: violated -> violated",
        "changed append_order: holds -> undecided",
    ]
    assert (found[0].count_before, found[0].count_after) == (3, 5)


def test_a_claim_that_one_run_did_not_decide_is_named(tmp_path: Path) -> None:
    found = diff(tmp_path, [anomaly(verdict="holds")], [anomaly(verdict="holds"), claim()])
    assert in_short(found) == ["changed append_order: None -> holds"]


def test_a_new_violation_that_the_baseline_names_does_not_fail(tmp_path: Path) -> None:
    (one,) = diff(tmp_path, [anomaly(verdict="holds")], [anomaly(known={ONE: "why"})])
    assert in_short((one,)) == ["new lost-write: holds -> known"]
    assert not is_failure(one)


def test_a_permitted_violation_does_not_count(tmp_path: Path) -> None:
    found = diff(tmp_path, [anomaly(verdict="holds")], [anomaly(permitted=True)])
    assert in_short(found) == ["changed lost-write: holds -> permitted"]


def test_single_histories_are_compared_whatever_their_names(tmp_path: Path) -> None:
    assert diff(tmp_path, [anomaly(history="a.edn")], [anomaly(history="b.edn")]) == ()


def test_several_histories_are_compared_by_name(tmp_path: Path) -> None:
    clean = anomaly(verdict="holds", history="clean")
    before: list[Event] = [clean, anomaly(history="bug a")]
    after: list[Event] = [clean, anomaly(history="bug b")]
    assert [one.change for one in diff(tmp_path, before, after)] == ["new", "gone"]
