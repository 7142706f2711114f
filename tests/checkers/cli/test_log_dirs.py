"""`urteil analyze --log-dirs` prints text and events, and rejects unreadable directories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka" / "log_dirs_stopped"
BROKERS = [str(KAFKA / f"broker-{number}") for number in (1, 2, 3)]
Call = Callable[..., Any]  # the fixture of the folder
LOCAL = ("--engine", "local")


def test_log_directories_of_apache_kafka_have_no_fault(call: Call) -> None:
    output = call("analyze", "--log-dirs", *BROKERS, *LOCAL)
    assert output.exit_code == 0
    verdicts = output.verdicts()
    assert verdicts["checksum"] == verdicts["replica-divergence"] == "holds"
    permitted = [e["anomaly"] for e in output.named("anomaly_decided") if e["permitted"]]
    assert permitted == ["repeated-marker", "open-transaction"]
    (row,) = (e for e in output.named("row_shown") if e["anomaly"] == "open-transaction")
    assert "transactional id open, producer 2004, epoch 0, is open since offset 40" in row["text"]
    assert output.named("measured")[0]["value"] == 321


def test_damage_is_reported_at_its_place_and_written_to_the_run_folder(
    call: Call, tmp_path: Path
) -> None:
    folders = [Path(shutil.copytree(one, tmp_path / Path(one).name)) for one in BROKERS]
    file = folders[1] / "orders-0" / "00000000000000000000.log"
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    output = call("analyze", "--log-dirs", *map(str, folders), *LOCAL, json_events=False)
    assert output.exit_code == 1
    headline = "✗ checksum   The checksum in a batch's header is the checksum of its bytes."
    assert headline in output.stdout
    assert f"1. {file} byte 0: the batch at offset 0, " in output.stdout
    assert "exit code 1: at least one claim is violated" in output.stdout
    (kept,) = (tmp_path / "runs").glob("*/log_dirs/checksum.parquet")
    assert pq.read_table(kept).to_pylist() == [
        {
            "partition": "orders-0",
            "offset": 0,
            "replica": str(folders[1]),
            "segment": file.name,
            "position": 0,
            "size": pq.read_table(kept)["size"][0].as_py(),
        }
    ]


def test_one_check_can_be_selected(call: Call) -> None:
    output = call("analyze", "--log-dirs", BROKERS[0], *LOCAL, "--anomaly", "offset-gap")
    assert output.verdicts() == {"offset-gap": "holds"}


def test_the_checks_are_listed_and_explained(call: Call) -> None:
    output = call("list", "anomalies", json_events=False)
    assert "hanging-transaction" in output.stdout
    output = call("explain", "torn-tail", json_events=False)
    assert "no clean shutdown" in output.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--log-dirs", "nowhere"], "nowhere does not exist; name the log.dirs folder of a broker"),
        (["--log-dirs", str(KAFKA)], "contains no topic partition folder with a *.log file; name"),
        (
            ["--log-dirs", BROKERS[0], "--jepsen"],
            "--jepsen applies to histories only; leave out --jepsen or --log-dirs",
        ),
        (["--log-dirs", BROKERS[0], "--anomaly", "cheksum"], "'cheksum'; the nearest: checksum"),
        (BROKERS, "log directories need --log-dirs"),
    ],
)
def test_rejected_input_is_one_line_and_exit_2(
    call: Call, words: list[str], complaint: str
) -> None:
    output = call("analyze", *words, *LOCAL)
    assert output.exit_code == 2
    assert complaint in output.stderr
    assert len(output.stderr.splitlines()) == 1


def test_folders_without_a_batch_decide_nothing(call: Call, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1")
    output = call("analyze", "--log-dirs", str(tmp_path), *LOCAL)
    assert output.exit_code == 3
    assert set(output.verdicts().values()) == {"undecided"}


def test_several_folders_have_no_file_location(call: Call, tmp_path: Path) -> None:
    report = tmp_path / "report.sarif"
    call("analyze", "--log-dirs", *BROKERS, *LOCAL, "--sarif", str(report), "--github")
    (run,) = json.loads(report.read_text())["runs"]
    found = {result["ruleId"]: result["locations"] for result in run["results"]}
    assert found.keys() == {"repeated-marker", "open-transaction"}
    (where,) = found["open-transaction"]
    assert where["logicalLocations"][0]["fullyQualifiedName"] == ", ".join(BROKERS)
    assert "physicalLocation" not in where
