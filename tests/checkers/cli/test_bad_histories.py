"""`urteil analyze` rejects unreadable input with exit code 2 and one line that says why."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers.histories.io import locations
from tests.checkers.histories.io.s3_server import KEY_ID, SECRET, served

DATA = Path(__file__).parents[2] / "data"
SAMPLE = str(DATA / "jepsen" / "001-lost.edn")


def assert_refused(output: Any, message: str) -> None:
    assert (output.exit_code, message in output.stderr) == (2, True), output.stderr
    last = [line for line in output.stderr.splitlines() if line.startswith("urteil analyze:")]
    assert len(last) == 1
    assert "Traceback" not in output.stderr


def recording(tmp_path: Path) -> Path:
    folder = tmp_path / "history"
    shutil.copytree(DATA / "apache_kafka" / "safe", folder)
    return folder


def said_of(folder: Path, **fields: object) -> None:
    path = folder / "history.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"settings": 7}, "history.json: settings is 7, not a JSON object; fix it"),
        (
            {"settings": {"isolation": "serializable"}},
            "its setting isolation is 'serializable'; allowed are read_committed, read_uncommitted",
        ),
        (
            {"settings": {"sub_via": ["group"]}},
            "its setting sub_via is 'group'; allowed are assign, subscribe",
        ),
        ({"schema_version": 9}, "schema_version is 9, and this urteil reads 1 and 2"),
    ],
)
def test_a_recording_with_invalid_metadata_is_rejected(
    call: Callable[..., Any], tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    folder = recording(tmp_path)
    said_of(folder, **fields)
    assert_refused(call("analyze", str(folder), "--engine", "local"), message)


def test_a_recording_without_its_first_part_is_rejected(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    folder = recording(tmp_path)
    (folder / "part-00000.parquet").rename(folder / "part-00001.parquet")
    message = "part 0 is missing; copy the whole folder again"
    assert_refused(call("analyze", str(folder), "--engine", "local"), message)


@pytest.mark.parametrize("odd", [b'{"at_ns', b"\xff\xfe", b"[]", b'{"at_ns": 1}'])
def test_an_invalid_fault_log_is_rejected_before_any_verdict(
    call: Callable[..., Any], tmp_path: Path, odd: bytes
) -> None:
    folder = recording(tmp_path)
    (folder / "faults.ndjson").write_bytes(b'{"at_ns": 1, "do": "kill", "node": 1}\n' + odd)
    output = call("analyze", str(folder), "--engine", "local")
    assert_refused(output, "faults.ndjson, line 2: this is not a fault")
    assert not output.named("anomaly_decided")


def test_a_pipe_is_rejected(call: Callable[..., Any], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "h.edn")
    output = call("analyze", str(tmp_path / "h.edn"), "--engine", "local")
    assert_refused(output, "this is a pipe, and a history is read more than once")


def test_a_number_beyond_64_bits_is_rejected_with_its_place(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "h.ndjson").write_text('{"op": 1}\n{"op": 99999999999999999999}\n')
    output = call("analyze", str(tmp_path / "h.ndjson"), "--engine", "local")
    assert_refused(
        output, "line 2: column op is 99999999999999999999, more than 64 bits; fix that value"
    )


def test_a_value_of_a_megabyte_is_shortened_in_every_output(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    value = "x" * 1_000_000
    (tmp_path / "h.edn").write_text(
        '{:index 0 :time 1 :type :invoke :process 0 :f :send :value [[:send :k "%s"]]}\n'
        '{:index 1 :time 2 :type :ok :process 0 :f :send :value [[:send :k [0 "%s"]]]}\n'
        "{:index 2 :time 3 :type :invoke :process 1 :f :poll :value [[:poll]]}\n"
        "{:index 3 :time 4 :type :ok :process 1 :f :poll"
        ' :value [[:poll {:k [[0 "%s"] [1 "%s"]]}]]}\n' % ((value,) * 4)
    )
    output = call("analyze", str(tmp_path / "h.edn"), "--engine", "local")
    assert output.exit_code == 1
    assert "characters, SHA-256" in output.stdout
    (report,) = tmp_path.glob("runs/*/report.html")
    assert len(output.stdout) + len(report.read_text()) < 1_000_000


def test_a_report_in_a_folder_that_does_not_exist_is_refused(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    junit = tmp_path / "nowhere" / "junit.xml"
    output = call("analyze", SAMPLE, "--engine", "local", "--junit", str(junit))
    assert_refused(output, "cannot be written: No such file or directory; name a file in a folder")
    assert not junit.parent.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--engine", "local", "--master", "local[2]"],
            "only Spark has a master; leave out one of them",
        ),
        (
            ["--engine", "local", "--compacted", ""],
            "--compacted '': the name of the topic is empty",
        ),
        (
            ["--engine", "local", "--anomaly", "G0"],
            "G0 is only checked with --ww-deps; add that option",
        ),
        (["--master", "local[x]"], "--master local[x]: not a master of Spark; write spark://"),
        (["--master", "yarn"], "set HADOOP_CONF_DIR or YARN_CONF_DIR to its folder"),
        (["--master", "sc://"], "--master sc://: not an address; write sc://HOST:PORT"),
    ],
)
def test_options_that_do_not_fit_each_other_are_rejected(
    call: Callable[..., Any], options: list[str], message: str
) -> None:
    assert_refused(call("analyze", SAMPLE, *options), message)


def test_credentials_in_an_address_are_refused_before_a_file_is_written(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    output = call("analyze", f"s3://{KEY_ID}:{SECRET}@bucket/h", "--engine", "local")
    assert output.exit_code == 2
    assert "credentials must not be part of an address" in output.stderr
    assert SECRET not in output.stdout + output.stderr
    assert not (tmp_path / "runs").exists()


def test_the_run_folder_of_a_stored_history_has_no_credentials(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served() as store:
        store.put("b", "h", DATA / "apache_kafka" / "safe")
        for name, value in store.environment().items():
            monkeypatch.setenv(name, value)
        locations._filesystem.cache_clear()
        output = call("analyze", "s3://b/h", "--engine", "local")
        assert_refused(call("analyze", "s3://b/x", "--engine", "local"), "s3://b/x: no such bucket")
        locations._filesystem.cache_clear()
    assert output.exit_code == 0
    kept = [file.read_bytes() for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    assert any(b"s3://b/h" in some for some in kept)
    for secret in (SECRET, KEY_ID):
        assert secret not in output.stdout + output.stderr
        assert not any(secret.encode() in some for some in kept)
