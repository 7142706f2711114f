"""SASL connections have the outcomes that Apache Kafka 4.3.0 gave to them."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference_impl.wire.authentication import authentication
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.authentication.conftest import address, security
from tests.reference_impl.wire.authentication.transcripts import (
    PASSWORDS,
    SESSION_MS,
    TRANSCRIPTS,
    outcomes,
)

RECORDED = json.loads(
    (Path(__file__).parents[3] / "data" / "sasl" / "apache-kafka-4.3.0.json").read_text()
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    options = security("SASL_PLAINTEXT", users=PASSWORDS, max_reauth_ms=SESSION_MS)
    with serving(ServeOptions(brokers=1, security=options)) as served:
        yield served


def test_each_transcript_is_recorded() -> None:
    assert [*RECORDED] == [*TRANSCRIPTS]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_connection_has_the_outcomes_of_kafka(
    name: str, cluster: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "REFUSES_AFTER_S", 0.001)
    assert outcomes(address(cluster), TRANSCRIPTS[name]) == RECORDED[name]


# ---------------------------------------------------------------- the recording finds bugs

BUGS: dict[str, tuple[Any, str, Any, str]] = {
    "a request is answered before authentication": (
        authentication.Authentication,
        "admits",
        lambda self, frame: True,
        "nothing",
    ),
    "any proof is right": (
        hmac,
        "compare_digest",
        lambda one, other: True,
        "final: wrong password",
    ),
    "an unknown user is named": (
        authentication.Authentication,
        "_generic_refusal",
        lambda self: self.failure,
        "first: unknown user",
    ),
    "a client name is not checked": (
        authentication,
        "has_valid_names",
        lambda call: True,
        "invalid client name",
    ),
    "tokens have headers in each version": (
        authentication,
        "HEADERS_SINCE",
        0,
        "bare token",
    ),
    "a client authenticates again at any time": (
        authentication,
        "REAUTHENTICATES_ONCE_IN_MS",
        0,
        "again twice in a second",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_changes_an_outcome(
    bug: str, cluster: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "REFUSES_AFTER_S", 0.001)
    place, name, value, transcript = BUGS[bug]
    monkeypatch.setattr(place, name, value)
    assert outcomes(address(cluster), TRANSCRIPTS[transcript]) != RECORDED[transcript]
