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
        (("--engine", "sprak"), "no engine 'sprak'; the nearest: spark"),
        (("--master", "local[2]"), "--master local[2]: only Spark has one; add --engine spark"),
        (
            ("--engine", "spark", "--master", "lokal"),
            "--master lokal: not a master of Spark; write spark://HOST:PORT",
        ),
        (
            ("--engine", "spark", "--master", "sc://host"),
            "--engine spark --master sc://host: Spark Connect has no RDDs",
        ),
        (
            ("--engine", "spark", "--master", "spark://127.0.0.1:1"),
            "--master spark://127.0.0.1:1: no Spark master answers there",
        ),
        (("--engine", "spark", "--fingerprints"), "spark --fingerprints: it stores whole states"),
        (("--engine", "spark", "--memory", "1GB"), "leave out --memory"),
        (("--engine", "spark", "--threads", "2"), "leave out --threads"),
        (("--engine", "spark", "--coverage"), "leave out --coverage"),
        (("--engine", "spark", "--symmetry"), "leave out --symmetry"),
        (("--engine", "spark", "--simulate"), "Spark takes no random walks"),
        (("--memory", "4"), "--memory 4: write a positive size such as 4GB or 500MB"),
    ],
)
def test_a_wrong_flag_ends_with_one_line(call: Any, flags: tuple[str, ...], message: str) -> None:
    output = call(*TWO_BROKERS, *flags)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1
