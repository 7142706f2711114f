"""`urteil test`: claims inside their condition, a seeded bug, and claims outside."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_seeded_bug_is_printed_as_a_program_that_fails_again(call: Any) -> None:
    said = call("test", "replication", "--bug", "no-dedup")
    assert said.exit_code == 1
    assert said.verdicts()["exactly_once_publish"] == "violated"
    text = next(e["text"] for e in said.those("evidence") if e["about"] == "exactly_once_publish")
    headline, _, program = text.partition("\n\n")
    assert headline.startswith("✗ exactly_once_publish  violated")
    with pytest.raises(Exception, match="exactly_once_publish"):
        exec(compile(program, "pasted", "exec"), {})  # what a user would paste and run


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["replicaton"], "replication"),
        (["replication", "--bug", "no-dedupe"], "'no-dedupe'; the nearest: no-dedup"),
        (["replication", "--runs", "0"], "--runs 0: at least 1"),
        (["log", "--profile", "nightli"], "no profile 'nightli'; the nearest: nightly"),
        (["replication", "--outside", "--bug", "no-dedup"], "leave --bug out"),
    ],
)
def test_a_bad_word_is_one_clear_line_and_exit_2(call: Any, words: list[str], says: str) -> None:
    said = call("test", *words)
    assert said.exit_code == 2
    assert says in said.stderr
    assert said.stderr.count("\n") == 1
