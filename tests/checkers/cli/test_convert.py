"""`urteil convert` converts a history; `urteil analyze --check-only` only validates its format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltalake import write_deltalake

from checkers.histories.io.reading import whole
from tests.checkers.histories.io.iceberg_tables import folder_of, iceberg_tables
from tools.history_format import examples

SAMPLE = Path(__file__).parents[2] / "data" / "jepsen" / "001-lost.edn"


def test_a_converted_history_passes_the_check(call: Callable[..., Any], tmp_path: Path) -> None:
    converted = call("convert", str(SAMPLE), str(tmp_path / "h"))
    figures = {event["metric"]: event["value"] for event in converted.named("measured")}
    assert converted.exit_code == 0
    assert figures == {"left out: field :index": 102, f"{tmp_path}/h: rows": 155}
    checked = call("analyze", str(tmp_path / "h"), "--check-only")
    assert checked.exit_code == 0
    assert checked.verdicts() == {"history-format": "holds"}
    (counts,) = checked.named("evidence")
    assert "operations  51: txn 21, poll 15, assign 8, send 6, crash 1" in counts["text"]


def test_runs_that_are_kept_in_the_folder_of_a_history_are_no_part_of_it(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "h.ndjson").write_text("".join(f"{line}\n" for line in examples()))
    (tmp_path / "runs" / "killed").mkdir(parents=True)
    (tmp_path / "runs" / "killed" / "events.ndjson").write_text("{}\n")
    refused = call("analyze", str(tmp_path), "--check-only")  # the folder of no run
    assert (refused.exit_code, "column op is null" in refused.stderr) == (2, True)
    (tmp_path / "runs" / "killed" / "run.json").write_text("{}")
    for _ in "12":
        assert call("analyze", str(tmp_path), "--check-only").exit_code == 0


def test_every_broken_rule_is_named(call: Callable[..., Any], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in examples()]
    rows[1]["offset"], rows[4]["key"], rows[6]["offset"] = -1001, None, -1
    (tmp_path / "h.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    output = call("analyze", str(tmp_path / "h.ndjson"), "--check-only")
    assert output.exit_code == 2
    assert "h.ndjson, row 5: column key is null, and a row of kind assigned" in output.stderr
    assert f"urteil analyze: {tmp_path}/h.ndjson, row 2: column offset is negative" in output.stderr
    assert "; 2 more values break a rule" in output.stderr


def test_a_delta_table_is_analyzed_at_a_version(call: Callable[..., Any], tmp_path: Path) -> None:
    rows = whole(SAMPLE)
    table = str(tmp_path / "t")
    write_deltalake(table, rows.slice(0, 100))
    write_deltalake(table, rows.slice(100), mode="append")
    newest = call("analyze", table, "--engine", "local")
    assert newest.verdicts() == call("analyze", str(SAMPLE), "--engine", "local").verdicts()
    assert {event["history"] for event in newest.named("anomaly_decided")} == {
        f"{table}, version 1"
    }
    (counts,) = call("analyze", table, "--check-only", "--table-version", "0").named("evidence")
    assert (counts["about"], "rows        100:" in counts["text"]) == (f"{table}, version 0", True)
    converted = call("convert", table, str(tmp_path / "h"), "--table-version", "0")
    assert converted.named("measured")[0]["value"] == 100
    refused = call("analyze", str(SAMPLE), "--table-version", "0")
    assert refused.exit_code == 2
    assert f"--table-version 0: {SAMPLE} is no Delta or Iceberg table; leave" in refused.stderr


def test_an_iceberg_table_is_analyzed_at_a_snapshot(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    rows = whole(SAMPLE)
    with iceberg_tables(tmp_path) as tables:
        table = tables.create("t", rows.slice(0, 100))
        table.append(rows.slice(100))
    folder, first = str(folder_of(table)), str(table.history()[0].snapshot_id)
    newest = call("analyze", folder, "--engine", "local")
    assert newest.verdicts() == call("analyze", str(SAMPLE), "--engine", "local").verdicts()
    (counts,) = call("analyze", folder, "--check-only", "--table-version", first).named("evidence")
    assert counts["about"] == f"{folder}, snapshot {first}"
    assert "rows        100:" in counts["text"]
    refused = call("convert", folder, str(tmp_path / "h"), "--table-version", "5")
    assert (refused.exit_code, "no snapshot 5; its last ones are" in refused.stderr) == (2, True)


def test_a_history_without_rows_is_undecided(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "h.edn").write_text("{:process :nemesis :type :info :f :kill}\n")
    output = call("analyze", str(tmp_path / "h.edn"), "--check-only")
    assert (output.exit_code, output.verdicts()) == (3, {"history-format": "undecided"})


def test_convert_refuses_a_file_that_is_no_history(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    output = call("convert", "s4://bucket/h", str(tmp_path / "out"))
    assert output.exit_code == 2
    assert "s4://bucket/h: unknown scheme s4://" in output.stderr
    assert not (tmp_path / "out").exists()
