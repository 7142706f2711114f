"""`urteil analyze kafka://HOST:PORT/TOPIC` judges the operations of a topic, in NDJSON or Avro."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import fastavro
import pytest
from confluent_kafka import Producer

from checkers.testing.broker import Broker
from tools.history_format import avro_schema

URTEIL: Final = [sys.executable, "-c", "from checkers.cli.main import main; main()"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(brokers=1, users={"me": "secret"}, security_protocol="SASL_PLAINTEXT") as started:
        yield started


@pytest.fixture
def client_config(tmp_path: Path) -> str:
    path = tmp_path / "client.properties"
    words = ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN")
    path.write_text("\n".join([*words, "sasl.username=me", "sasl.password=secret"]))
    return str(path)


def operation(number: int, kind: str, offset: int, value: str) -> bytes:
    row = {"op": number, "process": 0, "f": kind, "outcome": "ok", "position": 0, "kind": kind}
    row |= {"invoked_ns": 10 * number, "completed_ns": 10 * number + 5}
    return json.dumps({**row, "key": "t-0", "offset": offset, "value": value}).encode()


def in_avro(row: bytes) -> bytes:
    """Returns a row of JSON as a value in Avro, whose schema has the id 7."""
    file = io.BytesIO()
    fastavro.schemaless_writer(file, avro_schema(), json.loads(row))
    return b"\0\0\0\0\7" + file.getvalue()


def put(broker: Broker, topic: str, *values: bytes) -> str:
    settings = {"bootstrap.servers": broker.bootstrap_servers, "sasl.mechanism": "PLAIN"}
    settings |= {"security.protocol": "SASL_PLAINTEXT"}
    settings |= {"sasl.username": "me", "sasl.password": "secret"}
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(10) == 0
    return f"kafka://{broker.bootstrap_servers}/{topic}"


SOUND: Final = (operation(0, "send", 0, "a"), operation(1, "poll", 0, "a"))
LOST: Final = (
    operation(2, "send", 1, "b"),
    operation(3, "send", 2, "c"),
    operation(4, "poll", 2, "c"),
)


def test_the_verdict_of_a_topic_is_that_of_the_same_rows_in_a_file(
    broker: Broker, client_config: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    broker.create_topic("operations", 3)
    address = put(broker, "operations", *SOUND, *LOST)
    words = ("--engine", "local", "--client-config", client_config)
    judged = call("analyze", address, *words)
    (tmp_path / "same.ndjson").write_bytes(b"\n".join([*SOUND, *LOST]))
    same = call("analyze", str(tmp_path / "same.ndjson"), "--engine", "local")
    assert (judged.exit_code, judged.verdicts()) == (1, same.verdicts())
    assert judged.verdicts()["lost-write"] == "violated"
    assert f"{address}: 5 new rows, 5 in all" in judged.stderr
    again = call("analyze", address, *words, "--check-only")
    assert f"{address}: 0 new rows, 5 in all" in again.stderr
    assert again.verdicts() == {"history-format": "holds"}
    assert "secret" not in judged.stdout + judged.stderr + again.stdout


def test_a_topic_is_converted_and_unknown_fields_are_counted(
    broker: Broker, client_config: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    broker.create_topic("converted", 1)
    hosted = {**json.loads(SOUND[0]), "host": "a"}
    address = put(broker, "converted", json.dumps(hosted).encode(), SOUND[1])
    folder = str(tmp_path / "h")
    done = call("convert", address, folder, "--client-config", client_config)
    figures = {event["metric"]: event["value"] for event in done.named("measured")}
    assert figures == {"left out: column host": 1, f"{folder}: rows": 2}
    assert call("analyze", folder, "--check-only").exit_code == 0


def test_a_topic_in_avro_has_the_verdict_of_the_same_rows_in_json(
    broker: Broker, client_config: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "7.avsc").write_text(json.dumps(avro_schema()))
    broker.create_topic("avro", 3)
    address = put(broker, "avro", *map(in_avro, [*SOUND, *LOST]))
    words = ("--engine", "local", "--client-config", client_config)
    judged = call("analyze", address, *words, "--schemas", str(tmp_path))
    assert judged.verdicts()["lost-write"] == "violated"
    folder = str(tmp_path / "h")
    options = ("--client-config", client_config, "--schemas", str(tmp_path))
    assert call("convert", address, folder, *options).exit_code == 0
    assert call("analyze", folder, "--engine", "local").verdicts() == judged.verdicts()


def test_a_followed_topic_is_judged_again_until_ctrl_c(
    broker: Broker, client_config: str, tmp_path: Path
) -> None:
    broker.create_topic("followed", 1)
    address = put(broker, "followed", *SOUND)
    words = ["analyze", address, "--follow", "--json", "--engine", "local"]
    with subprocess.Popen(
        [*URTEIL, *words, "--client-config", client_config],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        events = map(json.loads, process.stdout)
        tables = (event["text"] for event in events if event["event"] == "evidence")
        assert "✗" not in next(tables)
        put(broker, "followed", *LOST)
        assert "✗ lost-write" in next(tables)
        os.killpg(process.pid, signal.SIGINT)
        decided = {e["anomaly"]: e["verdict"] for e in events if e["event"] == "anomaly_decided"}
        assert decided["lost-write"] == "violated"
        assert process.wait() == 1
        assert "Traceback" not in process.stderr.read()


def test_what_is_no_topic_is_refused(
    broker: Broker, client_config: str, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.histories.topics.consuming.ANSWERS_WITHIN_S", 2.0)
    broker.create_topic("empty", 1)
    servers = broker.bootstrap_servers
    for words, why in (
        (["kafka://127.0.0.1:1/t"], "no broker answers"),
        ([f"kafka://{servers}/empty", "--client-config", client_config], "has no records"),
        ([f"kafka://{servers}/none", "--client-config", client_config], "no such topic"),
        (["h.ndjson", "--schemas", "."], "--schemas is for kafka:// topics, and h.ndjson is none"),
        (["h.ndjson", "--client-config", client_config], "--client-config is for kafka:// topics"),
        (["kafka://me:secret@h:1/t"], "credentials must not be part of an address"),
    ):
        refused = call("analyze", *words, "--engine", "local")
        assert refused.exit_code == 2
        assert why in refused.stderr
        assert "secret" not in refused.stderr
