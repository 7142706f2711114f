"""The reference broker answers as Apache Kafka 4.3.0 did, except for the known differences."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.conform import trial
from checkers.conform.compare import Difference
from checkers.conform.families import FAMILIES
from checkers.conform.reasons import REASONS
from checkers.conform.recording import Recording, read
from checkers.conform.steps import all_requests
from checkers.conform.trial import Found
from reference_impl.wire.messages.versions import VERSIONS

FOLDER = Path(__file__).parents[2] / "data" / "conform"
FILES = (
    "apache-kafka-4.3.0.jsonl.gz",
    "apache-kafka-4.3.0-administration.jsonl.gz",
    "apache-kafka-4.3.0-reassignments.jsonl.gz",
    "apache-kafka-4.3.0-switched-off.jsonl.gz",
    "apache-kafka-4.3.0-security.jsonl.gz",
    "apache-kafka-4.3.0-fetch-sessions.jsonl.gz",
    "apache-kafka-4.3.0-topic-settings.jsonl.gz",
    "apache-kafka-4.3.0-quotas.jsonl.gz",
    "apache-kafka-4.3.0-client-metrics.jsonl.gz",
)
LEAST = 3_000
WORKERS = 4 * (os.cpu_count() or 1)  # sequences mostly wait


@pytest.fixture(scope="module")
def recording() -> Recording:
    first, *others = (read(FOLDER / name) for name in FILES)
    sequences = (one for more in others for one in more.sequences)
    return replace(first, sequences=(*first.sequences, *sequences))


@pytest.fixture(scope="module")
def found(recording: Recording) -> Found:
    found = Found()
    for compared in trial.with_recording(recording, REASONS, workers=WORKERS):
        found.add(compared)
    return found


def test_the_recording_has_every_family_and_every_request(recording: Recording) -> None:
    assert recording.system == "apache-kafka:4.3.0"
    assert recording.pairs >= LEAST
    families = {one.sequence.family for one in recording.sequences}
    assert families == set(FAMILIES)
    sent = {send.api for one in recording.sequences for send in all_requests(one.sequence.steps)}
    assert sent == VERSIONS.keys()


def test_every_difference_has_a_reason(found: Found) -> None:
    differences: list[Difference] = [one.difference for one in found.unexplained.values()]
    assert not differences, "\n".join(map(str, differences))
    assert found.compared.total() >= LEAST


def test_every_row_of_the_table_explains_a_difference(found: Found) -> None:
    assert not found.stale(REASONS)
