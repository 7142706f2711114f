"""The analysis takes its assumptions from command-line options and from a recording's metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from checkers.histories.io.assumptions import assumptions_of
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.recorded import METADATA
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations


def recording(folder: Path, **output: object) -> Path:
    (folder / METADATA).write_text(json.dumps({"schema_version": 2, **output}))
    return folder


def test_without_options_there_are_no_assumptions(tmp_path: Path) -> None:
    assert assumptions_of(tmp_path / "history.edn") == NOTHING_DECLARED
    assert assumptions_of(tmp_path) == NOTHING_DECLARED


def test_each_option_sets_an_assumption(tmp_path: Path) -> None:
    assert assumptions_of(
        tmp_path,
        sub_via=("subscribe", "assign"),
        ww_deps=True,
        rw_deps=True,
        isolation="read_uncommitted",
        compacted=("orders",),
        unfinished=True,
        jepsen=True,
    ) == Declarations(
        sub_via=frozenset({"assign", "subscribe"}),
        ww_deps=True,
        rw_deps=True,
        isolation="read_uncommitted",
        compacted=frozenset({"orders"}),
        finished=False,
        jepsen=True,
    )


def test_a_recording_contains_its_isolation_level_and_whether_it_finished(tmp_path: Path) -> None:
    folder = recording(tmp_path, settings={"isolation": "read_uncommitted"}, finished=False)
    assert assumptions_of(folder) == Declarations(isolation="read_uncommitted", finished=False)
    assert assumptions_of(folder, isolation="read_committed").isolation == "read_committed"


def test_a_recording_contains_how_its_consumers_got_their_partitions(tmp_path: Path) -> None:
    folder = recording(tmp_path, settings={"sub_via": ["assign", "subscribe"]})
    assert assumptions_of(folder) == Declarations(sub_via=frozenset({"assign", "subscribe"}))
    assert assumptions_of(folder, sub_via=["assign"]) == NOTHING_DECLARED


@pytest.mark.parametrize(
    ("options", "code"), [([], 3), (["--jepsen"], 1), (["--jepsen", "--anomaly", "duplicate"], 3)]
)
def test_an_empty_history_is_not_checked_and_jepsen_calls_it_invalid(
    call: Callable[..., Any], tmp_path: Path, options: list[str], code: int
) -> None:
    (tmp_path / "empty.edn").write_text("[]")
    output = call("analyze", str(tmp_path / "empty.edn"), "--engine", "local", *options)
    assert output.exit_code == code


def test_optional_anomalies_are_explained_too(call: Callable[..., Any]) -> None:
    output = call("explain", "empty-transaction-graph", json_events=False)
    assert "The history has no operation." in output.stdout


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--sub-via", "subscribe"], 0)])
def test_subscribers_may_skip_records(
    call: Callable[..., Any], options: list[str], code: int
) -> None:
    sample = Path(__file__).parents[2] / "data" / "jepsen" / "006-poll-skip.edn"
    output = call("analyze", str(sample), "--engine", "local", "--anomaly", "poll-skip", *options)
    assert output.exit_code == code
    (decided,) = output.named("anomaly_decided")
    assert (decided["verdict"], decided["permitted"]) == ("violated", code == 0)


def test_a_rule_without_observations_is_not_exercised(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "history.parquet"
    pq.write_table(as_table(history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0")), file)
    chosen = ("--anomaly", "duplicate", "--anomaly", "stale-end-offset")
    found = call("analyze", str(file), "--engine", "local", *chosen)
    verdicts = {one["anomaly"]: one["verdict"] for one in found.named("anomaly_decided")}
    assert verdicts == {"duplicate": "holds", "stale-end-offset": "not exercised"}
    assert found.exit_code == 0
    required = call("analyze", str(file), "--engine", "local", "--require-exercised", *chosen)
    assert required.exit_code == 3
