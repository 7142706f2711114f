"""`urteil test` runs suites on a correct broker and on a broker with a bug.

The command also runs suites outside the conditions under which their claims hold.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import Any

import pytest

from checkers.cli.run import Run
from checkers.cli.test import decide, replay_of_suite
from checkers.verdicts import exit_code
from properties.suites.delivery.stores import opening
from properties.suites.delivery.stores.store import DSN
from properties.suites.registry import suite_named
from properties.suites.search.profiles import profile_named


def test_a_seeded_bug_is_printed_as_a_program_that_fails_again(call: Any) -> None:
    output = call("test", "replication", "--bug", "no-dedup")
    assert output.exit_code == 1
    assert output.verdicts()["exactly_once_publish"] == "violated"
    text = next(e["text"] for e in output.named("evidence") if e["about"] == "exactly_once_publish")
    headline, _, program = text.partition("\n\n")
    assert headline.startswith("✗ exactly_once_publish  violated")
    with pytest.raises(Exception, match="exactly_once_publish"):
        exec(compile(program, "pasted", "exec"), {})  # what a user would paste and run
    # each spec that covers the run has a trace; the first one ends at the append of the duplicate
    kept = output.named("trace_kept")
    assert [(one["about"], one["spec"]) for one in kept] == [
        ("exactly_once_publish", "idempotence-abstract"),
        ("exactly_once_publish", "replication-abstract"),
    ]
    assert all(f"# walk:   {one['command']}" in text for one in kept)
    walked = call(*shlex.split(kept[0]["command"])[1:], "--print", json_events=False).stdout
    assert "node 1: Produce {" in walked
    assert "it needs append_next(p0, sequence 1, latest 1, end 3): 1 comes next after" in walked
    assert kept[1]["summary"].endswith("lines explained, no line left")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["replicaton"], "replication"),
        (["replication", "--bug", "no-dedupe"], "'no-dedupe'; the nearest: no-dedup"),
        (["replication", "--runs", "0"], "--runs 0: must be at least 1"),
        (["log", "--profile", "nightli"], "no profile 'nightli'; the nearest: nightly"),
        (["replication", "--outside", "--bug", "no-dedup"], "leave out --bug"),
        (["delivery", "--postgres", "host=127.0.0.1 port=1"], "refused; name a running server"),
        (["delivery", "--postgres", "nonsense"], 'missing "=" after "nonsense"'),
    ],
)
def test_a_wrong_argument_ends_with_one_line_and_exit_code_2(
    call: Any, words: list[str], message: str
) -> None:
    output = call("test", *words)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1


def test_applications_use_the_named_server(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dsn = os.environ.get(DSN)
    if dsn is None:
        pytest.skip(f"{DSN} names no server")
    monkeypatch.setenv(DSN, "host=127.0.0.1 port=1")
    assert call("test", "delivery", "--runs", "1").exit_code == 2
    output = call("test", "delivery", "--runs", "1", "--postgres", dsn)
    assert output.verdicts()["at_least_once"] == "holds"


def test_the_replay_names_the_server_too() -> None:
    suite, profile = suite_named("delivery"), profile_named("pr")
    assert "--postgres" not in replay_of_suite(suite, 7, profile)
    with opening.in_postgres("host=db dbname=apps"):
        assert replay_of_suite(suite, 7, profile).endswith(" --postgres 'host=db dbname=apps'")


def test_a_suite_without_a_database_notes_that_postgres_is_unused(call: Any) -> None:
    output = call("test", "log", "--runs", "1", "--postgres", "nonsense")
    assert output.exit_code != 2
    assert "--postgres: only the suite delivery uses a database" in output.stderr


def test_a_claim_that_no_run_breaks_outside_its_condition_is_undecided() -> None:
    """The exit code is 3: no run breaks the claim, although some run should."""
    (side,) = (
        side
        for side in suite_named("log").outside
        if (side.claim, side.setting) == ("any_offset_readable", "deletion")
    )
    run = Run("test", 0, quiet=True, judged_by_expectation=True)
    decide(run, suite_named("log"), side, replace(profile_named("pr"), runs=1, rules=1), 0)
    assert run.decided == ["undecided"]
    assert exit_code(run.decided) == 3
