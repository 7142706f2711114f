"""The verdict of `urteil check` does not depend on the engine or its storage."""

from __future__ import annotations

from typing import Any

import pytest

TWO_BROKERS = (
    *("check", "replication", "--variant", "truncate-to-hw", "--property", "weak_isr"),
    *("--set", "replicas=2", "--set", "max_leader_epoch=2"),
)


@pytest.mark.parametrize(
    "flags",
    [
        ("--engine", "compiled"),
        ("--engine", "python"),
        ("--fingerprints",),
        ("--memory", "1GB"),
        ("--threads", "2"),
    ],
)
def test_every_engine_has_the_same_verdicts(call: Any, flags: tuple[str, ...]) -> None:
    output = call(*TWO_BROKERS, *flags)
    (decided,) = output.named("property_decided")
    assert output.exit_code == 1
    assert (decided["verdict"], decided["trace_length"]) == ("violated", 8)


def test_coverage_counts_the_conjuncts_that_disable_an_action(call: Any) -> None:
    output = call(*TWO_BROKERS, "--coverage")
    measured = {event["metric"]: event["value"] for event in output.named("measured")}
    assert measured["taken leader_write"] > 0
    assert any(name.startswith("disabled leader_write, line ") for name in measured)
    assert not any("disabled" in e["metric"] for e in call(*TWO_BROKERS).named("measured"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--engine", "compield"), "no engine 'compield'; the nearest: compiled"),
        (("--memory", "4"), "--memory 4: write a positive size such as 4GB or 500MB"),
    ],
)
def test_a_wrong_flag_ends_with_one_line(call: Any, flags: tuple[str, ...], message: str) -> None:
    output = call(*TWO_BROKERS, *flags)
    assert output.exit_code == 2
    assert message in output.stderr
