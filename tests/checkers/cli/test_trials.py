"""`urteil test --on SYSTEM` decides claims by trials, and keeps the evidence in the run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOCAL = ("--engine", "local")


def test_a_suite_is_decided_on_the_served_broker_and_leaves_its_evidence(
    call: Any, tmp_path: Path
) -> None:
    output = call("test", "log", "--on", "served", "--runs", "1")
    verdicts = output.verdicts()
    assert verdicts.pop("two_writers_two_readers") in {"holds", "undecided"}  # it takes luck
    assert {*verdicts.values()} == {"holds"}
    decided = output.named("property_decided")
    assert {event["engine"] for event in decided} == {"trial"}
    assert {event["variant"].rpartition(", ")[2] for event in decided} == {"served"}
    (program,) = tmp_path.glob("runs/*/log-order_is_per_partition/program.txt")
    assert "\nLogMachine('two partitions')\n" in program.read_text(encoding="utf-8")
    assert sorted(file.name for file in program.parent.iterdir()) == [
        "faults.ndjson",
        "history.parquet",
        "program.txt",
        "trial.json",
    ]
    folders = {folder.name: folder for folder in tmp_path.glob("runs/*/histories/*")}
    assert "log-several" in folders  # of claims that hold without evidence
    last = folders["log-several"]
    assert sorted(file.name for file in last.iterdir()) == [
        "faults.ndjson",
        "history.parquet",
        "program.txt",
    ]
    text = (last / "program.txt").read_text(encoding="utf-8")
    assert text.startswith("# log (several): the last trial\nLogMachine('several')\n")
    analyzed = call("analyze", str(last / "history.parquet"), *LOCAL, "--anomaly", "duplicate")
    assert analyzed.verdicts() == {"duplicate": "holds"}
    again = call("replay", str(program.parent), "--times", "2")
    assert again.exit_code == 0
    (decided,) = again.named("property_decided")
    assert decided["variant"] == "two partitions, served"
    assert decided["reason"].startswith("shown in 2 of 2 runs: ")
    assert call("replay", str(program.parent.parent), "--on", "serve").exit_code == 2
    other = call("replay", str(program.parent), "--variant", "kip-320")
    assert "--variant applies to traces of specs, and " in other.stderr
    assert other.stderr.rstrip().endswith("is a kept trial; leave out --variant")
    assert other.exit_code == 2


def test_claims_that_the_system_cannot_decide_give_exit_3(call: Any) -> None:
    output = call("test", "elections", "--on", "served")
    assert output.exit_code == 3
    reasons = {event["reason"] for event in output.named("property_decided")}
    assert reasons == {"this needs a system that can see the state of every replica"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "served", "--bug", "no-dedup"], "--bug: served has no seeded bugs"),
        (["--on", "serve"], "the nearest names: served"),
        (["--on", "served", "--proxied"], "--proxied: Urteil cannot cut links of served"),
        (["--proxied"], "--proxied need --on apache-kafka"),
        (["--on", "127.0.0.1:1"], "127.0.0.1:1: no broker answers"),
        (["--on", "served", "--broker-config", "x=1"], "a broker cannot start with 'x'"),
        (["--on", "127.0.0.1:1", "--broker-config", "x=1"], "takes no settings of brokers"),
    ],
)
def test_a_wrong_argument_ends_with_one_line_and_exit_code_2(
    call: Any, words: list[str], message: str
) -> None:
    output = call("test", "log", *words)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1
