"""Injected anomalies: the literal definitions find what is expected, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.analyze.injection import SCENES, Injection, shown
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers.histories import recorded
from checkers.histories.analysis import analyze
from model.history_notation import history
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import BY_ID, CATALOGUE


@pytest.mark.parametrize("anomaly", SCENES)
def test_a_scene_shows_what_it_is_called(anomaly: str) -> None:
    assert BY_ID[anomaly].find(history(SCENES[anomaly]))


@pytest.mark.parametrize("partitions", [1, 4])
def test_the_literal_definitions_find_what_was_injected(tmp_path: Path, partitions: int) -> None:
    injection = Injection(each=2, seed=partitions)
    folder = tmp_path / "history"
    synthesize(Synthesis(folder=folder, rows=1_500, partitions=partitions, injection=injection))
    operations = recorded.operations(folder)

    found = {one.id: frozenset(one.find(operations)) for one in CATALOGUE}
    assert not any(one.find(operations) for one in ASSUMPTIONS)
    assert found == injection.expected()
    assert len(found["offset-order-inversion"]) >= 4
    assert len(found["stale-end-offset"]) >= 4


def test_the_analysis_finds_it_among_many_sound_operations(tmp_path: Path) -> None:
    injection = Injection(each=12)
    folder = tmp_path / "history"
    synthesize(Synthesis(folder=folder, rows=500_000, partitions=64, injection=injection))

    assert shown(analyze(folder)) == injection.expected()
