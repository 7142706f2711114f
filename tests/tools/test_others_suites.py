"""Test suites of other projects run against the reference broker.

Their outputs are parsed. Tests that do not compile are left out. The recorded results fill a page
of the documentation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from model.faults import InputFault
from tools.others_suites import confluent, go_suites
from tools.others_suites.go_sources import declarations, missed, prune, reaching, without
from tools.others_suites.outputs import go_result, junit_results
from tools.others_suites.page import PAGE, page
from tools.others_suites.reasons import REASONS, SHARED, reason
from tools.others_suites.results import OUTCOMES, Result, SuiteResults, kept, save

GO_FILE = """package kfake

import "testing"

const few = 3

var cases = []struct {
	name string
}{
	{"v1"},
}

func newCluster(t *testing.T) *Cluster {
	return nil
}

func (c *Cluster) helper() {}

func TestStarts(t *testing.T) {
	c := newCluster(t)
	c.Fault()
}

func TestPlain(t *testing.T) {
	_ = few
}
"""
FAILED = """=== RUN   TestStarts
    helpers_test.go:921: deleting topic 0123456789abcdef0123
    kfake_test.go:12: open /home/me/data: no such file
    kfake_test.go:13: more
--- FAIL: TestStarts (0.91s)
FAIL
"""
REPORT = """<testsuites><testsuite>
<testcase classname="tests.integration.admin.test_list" name="test_all" time="1.5" />
<testcase classname="tests.integration.admin.test_list" name="test_one[a]" time="0.5">
<failure message="KafkaException: refused&#10;more" /></testcase>
<testcase classname="tests.integration.admin.test_list" name="test_two" time="0">
<error message="failed at setup" /></testcase>
<testcase classname="tests.integration.admin.test_list" name="test_off" time="0">
<skipped message="switched off" /></testcase>
</testsuite></testsuites>"""


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize(
    ("output", "outcome", "seconds", "note"),
    [
        ("--- PASS: TestStarts (0.25s)\nPASS\n", "passed", 0.25, ""),
        (FAILED, "failed", 0.91, "open PATH: no such file"),
        (
            "    a.go:1: no such feature\n--- SKIP: TestStarts (0.00s)\n",
            "skipped",
            0,
            "no such feature",
        ),
        (
            "--- FAIL: TestStarts/one (0.1s)\npanic: nil map\n\ngoroutine 1\n",
            "failed",
            7,
            "panic: nil map",
        ),
        ("", "failed", 7, "the process ended without a result"),
        ("panic: test timed out after 1m0s\n", "failed", 7, "not finished after 7 s"),
    ],
)
def test_the_output_of_a_go_test_is_read(
    output: str, outcome: str, seconds: float, note: str
) -> None:
    found = go_result("TestStarts", output, 7.0)
    assert (found.outcome, found.seconds, found.note) == (outcome, seconds, note)


def test_a_go_test_that_was_ended_has_failed() -> None:
    found = go_result("TestStarts", "--- PASS: TestOther (0.25s)\n", 61.0, 60.0)
    assert (found.outcome, found.note) == ("failed", "not finished after 60 s")


def test_a_junit_report_is_read() -> None:
    assert [(one.test, one.outcome, one.note) for one in junit_results(REPORT)] == [
        ("test_list::test_all", "passed", ""),
        ("test_list::test_one[a]", "failed", "KafkaException: refused"),
        ("test_list::test_two", "failed", "failed at setup"),
        ("test_list::test_off", "skipped", "switched off"),
    ]
    assert junit_results("<testsuites />") == []


# ---------------------------------------------------------------- Go sources


def test_declarations_have_names_and_lines() -> None:
    found = declarations(GO_FILE)
    names = [name for one in found for name in one.names]
    assert names == ["few", "cases", "newCluster", "helper", "TestStarts", "TestPlain"]
    cases = found[1]
    assert GO_FILE.split("\n")[cases.first : cases.after][-1] == "}"
    assert declarations("package kfake\n") == []


def test_a_removed_declaration_leaves_blank_lines() -> None:
    starts = declarations(GO_FILE)[4]
    left = without(GO_FILE, starts)
    assert "TestStarts" not in left
    assert left.count("\n") == GO_FILE.count("\n")


def test_tests_that_reach_a_function_are_found() -> None:
    assert reaching([GO_FILE], ["newCluster"]) == {"TestStarts"}
    assert reaching([GO_FILE], ["none"]) == set()


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("undefined: kfake.Fault", {"Fault"}),
        ("c.Fault undefined (type *Cluster has no field or method Fault)", {"Fault"}),
        ("missing return", set[str]()),
    ],
)
def test_the_missed_name_is_read_from_an_error(message: str, names: set[str]) -> None:
    assert missed(message) == names


COMPILER = """
import pathlib, sys
lines = pathlib.Path("a_test.go").read_text().split("\\n")
wrong = {"c.Fault()": "c.Fault undefined (type *Cluster has no field or method Fault)",
         "needs(t)": "undefined: needs" if "func needs(" not in "\\n".join(lines) else ""}
found = [(n, wrong[line.strip()]) for n, line in enumerate(lines, 1) if wrong.get(line.strip())]
for number, message in found:
    print(f"./a_test.go:{number}:2: {message}")
sys.exit(1 if found else 0)
"""
TWO = """package kfake

func needs(t *testing.T) {
	c.Fault()
}

func TestFirst(t *testing.T) {
	needs(t)
}

func TestSecond(t *testing.T) {
}
"""


def test_a_declaration_that_does_not_compile_is_removed_with_its_users(tmp_path: Path) -> None:
    (tmp_path / "a_test.go").write_text(TWO)
    assert prune(tmp_path, ["python3", "-c", COMPILER]) == {"TestFirst": ("Fault",)}
    left = declarations((tmp_path / "a_test.go").read_text())
    assert [one.names for one in left] == [("TestSecond",)]


def test_an_error_outside_of_declarations_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "a_test.go").write_text(TWO)
    says = "import sys; print('./a_test.go:1:1: undefined: x'); sys.exit(1)"
    with pytest.raises(ValueError, match=r"a_test\.go:1: undefined: x"):
        prune(tmp_path, ["python3", "-c", says])
    with pytest.raises(ValueError, match="does not compile"):
        prune(tmp_path, ["python3", "-c", "import sys; sys.exit('no compiler')"])


def test_a_go_test_ends_at_its_time_limit(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    found = go_suites.run_test(program, "TestStarts", {}, 0.2)
    assert (found.outcome, found.note) == ("failed", "not finished after 0 s")


def test_the_versions_of_go_modules_are_those_of_the_clients() -> None:
    ours = (go_suites.HERE / "go.mod").read_text().split()
    theirs = (Path(go_suites.HERE).parents[1] / "clients" / "go" / "go.mod").read_text().split()
    module = go_suites.FRANZ_GO
    assert go_suites.version_of(module) == theirs[theirs.index(module) + 1].removeprefix("v")
    assert ours[1] == go_suites.KFAKE


# ---------------------------------------------------------------- confluent-kafka-python


def test_another_folder_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match="clone its repository"):
        confluent.version_in(tmp_path)
    (tmp_path / "pyproject.toml").write_text('version = "9.8"\n')
    (tmp_path / "tests" / "integration").mkdir(parents=True)
    assert confluent.version_in(tmp_path).endswith(", tests of 9.8")


# ---------------------------------------------------------------- the record and its page


def test_the_page_shows_the_recorded_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


def test_each_suite_is_recorded_with_known_outcomes() -> None:
    assert [one.suite for one in kept()] == ["confluent-kafka", "kfake", "kgo"]
    for suite in kept():
        assert suite.counted("passed") > 0
        for one in suite.tests:
            assert one.outcome in OUTCOMES
            assert (one.note == "") == (one.outcome == "passed"), one
            assert not any(part in one.note for part in ("/home", "/tmp", "/root")), one.note


def test_each_failure_has_a_reason_and_each_reason_a_failure() -> None:
    failed = {(suite.suite, one.test) for suite in kept() for one in suite.of("failed")}
    assert {(suite, test) for suite, test in failed if reason(suite, test) is None} == set()
    assert REASONS.keys() == failed
    texts = set(REASONS.values())
    assert all(text in texts for text in SHARED)


def test_a_page_lists_failures_with_reasons_and_groups_skipped_tests(tmp_path: Path) -> None:
    tests = [
        Result(test="TestA", outcome="passed", seconds=1.04),
        Result(test="TestB", outcome="failed", seconds=2, note="a|b"),
        Result(test="TestC", outcome="skipped", note="needs Fault of kfake"),
        Result(test="TestD", outcome="skipped", note="needs Fault of kfake"),
    ]
    empty = SuiteResults(suite="kgo", version="1.2", tests=())
    suite = empty.with_results(tests)
    text = page([suite])
    assert "| kgo | 1.2 | 1 | 1 | 2 |" in text
    assert "| `TestB` | a\\|b | unknown |" in text
    assert "| needs Fault of kfake | `TestC`, `TestD` |" in text
    path = tmp_path / "others.json"
    assert kept(path) == []
    save(suite, path)
    (again,) = kept(path)
    assert [one.test for one in again.tests] == ["TestA", "TestB", "TestC", "TestD"]
    assert again.tests[0].seconds == 1.0
    passed = again.with_results([Result(test="TestB", outcome="passed")])
    assert passed.of("failed") == []
