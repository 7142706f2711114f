"""A client takes its settings from a .properties file; each mistake is reported with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from checkers.client_config import PRODUCER, BadClientConfig, ClientConfig, read


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_file_wins_over_our_settings_and_the_address_over_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.properties",
        "# a comment\n! another\n\nacks = 1\nsasl.password: a=b:c\nbootstrap.servers=elsewhere\n",
    )
    settings = read(path).merged("here:9092", PRODUCER)

    assert settings["acks"] == "1"
    assert settings["sasl.password"] == "a=b:c"
    assert settings["bootstrap.servers"] == "here:9092"
    assert settings["enable.idempotence"] is True


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("acks=1\nlinger\n", r"c\.properties, line 2: write key=value, not 'linger'$"),
        ("=1\n", r"line 1: write key=value, not '=1'$"),
        ("acks=1\n\nacks=2\n", r"line 3: acks is already set in line 1; remove one$"),
    ],
)
def test_a_line_without_key_and_value_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadClientConfig, match=complaint):
        read(write(tmp_path / "c.properties", text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadClientConfig, match=r"nowhere: .*--client-config needs a text file"):
        read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("linger.ms=1\nno.such.key=1\n", "line 2: no.such.key: No such configuration property"),
        ("linger.ms=1\nacks=maybe\n", "line 2: acks: Invalid value"),  # librdkafka names an alias
        ("linger.ms=much\n", "line 1: linger.ms: Invalid value"),
        (
            "security.protocol=SSL\nssl.ca.location=/nowhere\n",
            "line 2: ssl.ca.location: Failed to create producer",
        ),
    ],
)
def test_a_setting_that_the_library_rejects_is_named_by_line(
    tmp_path: Path, text: str, complaint: str
) -> None:
    config = read(write(tmp_path / "c.properties", text))
    with pytest.raises(BadClientConfig, match=complaint):
        config.make(Producer, config.merged("127.0.0.1:1", {}))


def test_a_rejected_setting_without_a_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        BadClientConfig, match=r"library rejects these settings: .*security\.protocol"
    ):
        ClientConfig().make(Producer, {"security.protocol": "none"})
