"""A wall clock that jumps by a day, back or forward, changes no budget and no verdict.

Times are measured on the monotonic clock. A table in this module lists all places of the code that
read the wall clock.
"""

from __future__ import annotations

import ast
import asyncio
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.demo import __file__ as demo
from reference_impl.node.settings import BrokerSettings
from reference_impl.wire.nodes.timers import Timers

DEMO = str(Path(demo).with_name("three-anomalies.edn"))
ROOT = Path(__file__).parents[3]
DAY_S = 86_400.0
WALL_CLOCK = {
    "checkers/cli/baseline.py": "the day on which an accepted violation expires",
    "checkers/conform/trial.py": "timestamps of records, and names of a run's topics",
    "checkers/explicit/checkpoints.py": "when a checkpoint was written",
    "checkers/over_time/baseline.py": "the day on which an accepted violation expires",
    "checkers/over_time/choosing.py": "the runs of the last days",
    "checkers/record/store.py": "how much later a resumed recording goes on",
    "checkers/report/folder.py": "the name of a run folder, and when the run began",
    "checkers/reproduce/stage.py": "timestamps of records",
    "checkers/reproduce/transactions.py": "timestamps of records",
    "checkers/trials/trial.py": "names of topics that no earlier trial has used",
    "reference_impl/wire/faults/around_requests.py": "when a request came, in the log of requests",
    "reference_impl/wire/nodes/timers.py": "the start of a clock that only goes on",
    "reference_impl/wire/serving/processes/cluster.py": "the same, if each node has a process",
}


def reads_of_the_wall_clock(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in {"time.time", "time.time_ns", "time.localtime", "time.gmtime"}:
                yield name
            if node.value.id in {"datetime", "date"} and node.attr in {"now", "today", "utcnow"}:
                yield name
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (alias.name for alias in node.names if alias.name in {"time", "time_ns"})


def test_the_wall_clock_is_read_only_where_a_date_is_needed() -> None:
    files = {
        str(file.relative_to(ROOT))
        for room in ("model", "reference_impl", "properties", "checkers")
        for file in (ROOT / room).rglob("*.py")
        if any(reads_of_the_wall_clock(ast.parse(file.read_text(encoding="utf-8"))))
    }
    assert files == WALL_CLOCK.keys()
    assert list(reads_of_the_wall_clock(ast.parse("from time import time"))) == ["time"]
    assert list(reads_of_the_wall_clock(ast.parse("time.time_ns()"))) == ["time.time_ns"]


@pytest.fixture(params=[DAY_S, -DAY_S], ids=["forward", "back"])
def jumping(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wall clock is right at the first reading, wrong by a day at the second one, right at the
    third one, and so on.
    """
    real, jumps = time.time, itertools.cycle((0.0, request.param))
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int((real() + next(jumps)) * 1e9))


@pytest.mark.usefixtures("jumping")
def test_a_budget_of_seconds_is_not_spent_by_a_jump(call: Any) -> None:
    output = call("check", "idempotence", "--budget", "1000s", "--property", "at_most_once")
    assert (output.exit_code, output.verdicts()) == (0, {"at_most_once": "holds"})


@pytest.mark.usefixtures("jumping")
def test_a_budget_of_seconds_ends_on_the_monotonic_clock(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = itertools.count(0.0, 3_600.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))
    output = call("check", "replication", "--budget", "1000s", "--property", "weak_isr")
    assert output.exit_code == 3
    (decided,) = output.named("property_decided")
    assert (decided["verdict"], decided["reason"]) == (
        "undecided",
        "the budget of seconds is spent",
    )


@pytest.mark.usefixtures("jumping")
def test_a_recorded_history_and_its_verdicts_do_not_see_a_jump(call: Any) -> None:
    assert call("analyze", DEMO, "--engine", "local").exit_code == 1
    output = call("record", "--workload", "transactions", "--sends", "20", "--partitions", "1")
    assert output.exit_code == 0
    (history,) = (m["value"] for m in output.named("measured") if m["metric"] == "history")
    verdict = call("analyze", history, "--engine", "local")
    assert verdict.exit_code == 0
    assert not verdict.named("assumption_broken")


def test_the_clock_of_a_cluster_only_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that starts later, in another process, begins at the time of the cluster's clock."""

    def started(ahead_s: float | None = None) -> Timers:
        timers = Timers(BrokerSettings(), {}, {}, lambda *_: None)
        timers.start(ahead_s=ahead_s)
        return timers

    async def times() -> None:
        cluster = started()
        ahead_s, before_ms = time.time() - time.monotonic(), cluster.now_ms
        assert abs(before_ms - time.time() * 1000) < DAY_S
        for jump_s in (DAY_S, -DAY_S):
            wall_s = time.time() + jump_s
            monkeypatch.setattr(time, "time", lambda wall_s=wall_s: wall_s)
            restarted = started(ahead_s)
            for later_ms in (cluster.now_ms, restarted.now_ms):
                assert 0 <= later_ms - before_ms < DAY_S

    asyncio.run(times())
