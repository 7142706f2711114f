"""`urteil sweep` tests many seeds, and gives one verdict on each anomaly."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest


def test_a_broker_without_bugs_holds_on_every_seed(call: Any) -> None:
    output = call("sweep", "rough", "--seeds", "3..6", "--liveness")
    assert output.exit_code == 0
    assert set(output.verdicts().values()) == {"holds"}
    measured = {e["metric"]: e["value"] for e in output.named("measured")}
    assert measured["rough: seeds"] == 4
    assert measured["rough: broker steps"] > 4_000


def test_a_seeded_bug_is_found_kept_and_found_again_by_its_replay_command(
    call: Any, tmp_path: Path
) -> None:
    output = call("sweep", "publish", "--seeds", "0..1", "--bug", "no-dedup")
    assert output.exit_code == 1
    row = next(e for e in output.named("anomaly_decided") if e["anomaly"] == "duplicate")
    assert (row["verdict"], row["input_kind"]) == ("violated", "sweep")
    folder = tmp_path / output.events[0]["folder"]
    assert (folder / "seed-0" / "history" / "part-00000.parquet").exists()
    assert (folder / "seed-0" / "trace.ndjson").exists()
    again = call(*shlex.split(row["replay"])[1:])
    assert again.verdicts()["duplicate"] == "violated"


def test_a_budget_skips_seeds_and_reports_their_number(call: Any) -> None:
    output = call("sweep", "publish", "--seeds", "0..999", "--budget", "0.1s")
    assert output.exit_code == 0
    (progress,) = output.named("property_decided")
    assert progress["reason"].endswith(" of 1,000 seeds")
    assert not progress["reason"].startswith("1,000")


def test_required_anomalies_that_no_seed_could_show_give_exit_3(call: Any) -> None:
    publish = ("sweep", "publish", "--seeds", "0", "--anomaly", "lost-write")
    shown = call(*publish, "--require-exercised")
    assert shown.verdicts() == {"progress": "holds", "lost-write": "holds"}
    assert shown.exit_code == 0

    chosen = call(*publish, "--anomaly", "G1a")  # which needs a transaction
    assert chosen.verdicts() == {
        "progress": "holds",
        "lost-write": "holds",
        "G1a": "not exercised",
    }
    assert chosen.exit_code == 0
    required = call(*publish, "--anomaly", "G1a", "--require-exercised")
    assert required.verdicts() == chosen.verdicts()
    assert required.exit_code == 3
    every = call("sweep", "publish", "--seeds", "0", "--require-exercised")
    assert every.verdicts().keys() > {"G1a", "G1b", "lost-write"}
    assert every.exit_code == 3


def test_an_anomaly_that_was_not_chosen_is_neither_reported_nor_kept(
    call: Any, tmp_path: Path
) -> None:
    bug = ("sweep", "publish", "--seeds", "0", "--bug", "no-dedup")
    output = call(*bug, "--anomaly", "stale-end-offset")
    assert output.verdicts() == {"progress": "holds", "stale-end-offset": "holds"}
    assert output.exit_code == 0
    assert not (tmp_path / output.events[0]["folder"] / "seed-0").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["publsh"], "'publsh'; the nearest: publish"),
        (["publish", "--seeds", "9..3"], "--seeds 9..3: write one seed, such as 17, or"),
        (["publish", "--seeds", "all"], "--seeds all: write one"),
        (["publish", "--anomaly", "lost-writes"], "'lost-writes'; the nearest: lost-write"),
        (["publish", "--bug", "no-dedupe"], "'no-dedupe'; the nearest: no-dedup"),
        (["publish", "--budget", "10k-states"], "write a time such as 60s"),
    ],
)
def test_a_wrong_argument_ends_with_one_line_and_exit_code_2(
    call: Any, words: list[str], message: str
) -> None:
    output = call("sweep", *words)
    assert output.exit_code == 2
    assert message in output.stderr
    assert output.stderr.count("\n") == 1
