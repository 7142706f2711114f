"""A served cluster with a data directory loses nothing acknowledged when killed again and again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.kills.forked import UNWRITTEN
from benchmarks.kills.trial import Trial, run

Call = Callable[..., Any]  # the fixture of the folder
LOCAL = ("--engine", "local")


def test_ten_kills_lose_nothing_acknowledged_and_tear_no_transaction(
    call: Call, tmp_path: Path
) -> None:
    trial = Trial(kills=10, workload="transactions", sends=300)
    recorded, data_dir = run(trial, tmp_path)
    assert recorded.unread == ()
    output = call("analyze", str(recorded.folder), *LOCAL)
    assert output.exit_code == 0, output.stdout
    verdicts = output.verdicts()
    assert verdicts["lost-write"] == verdicts["unseen"] == "holds"
    assert verdicts["torn-transaction"] == "holds"
    brokers = [str(data_dir / f"broker-{number}") for number in (1, 2, 3)]
    output = call("analyze", "--log-dirs", *brokers, *LOCAL)
    assert output.exit_code == 0, output.stdout
    verdicts = output.verdicts()
    assert verdicts["replica-divergence"] == "holds"
    others = {verdicts[name] for name in ("torn-tail", "hanging-transaction", "producer-snapshot")}
    assert others <= {"holds", "not exercised"}


def test_a_broker_that_acknowledges_before_it_writes_is_found(call: Call, tmp_path: Path) -> None:
    recorded, _ = run(Trial(kills=2, sends=200, fault=UNWRITTEN), tmp_path)
    output = call("analyze", str(recorded.folder), *LOCAL)
    assert output.exit_code == 1
    assert output.verdicts()["unseen"] == "violated"
