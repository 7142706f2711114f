"""The analysis finds exactly the anomalies that were injected into a sound history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.analyze.injection import Injection, Shown, own_cells, shown
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers.histories.analysis import analyze
from checkers.histories.io import recorded
from model.history_notation import history
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.catalogue import CATALOGUE
from properties.anomalies.scenes import SCENES

DEFINED = {anomaly.id: anomaly for anomaly in CATALOGUE}


def all_told(found: Shown) -> dict[str, set[tuple[Any, ...]]]:
    return {name: set(map(own_cells, rows)) for name, rows in found.items()}


@pytest.mark.parametrize("anomaly", SCENES)
def test_a_scene_shows_the_anomaly_it_is_named_after(anomaly: str) -> None:
    assert DEFINED[anomaly].find(history(SCENES[anomaly]))


@pytest.mark.parametrize("partitions", [1, 4])
def test_the_literal_definitions_find_exactly_the_injected_rows(
    tmp_path: Path, partitions: int
) -> None:
    injection = Injection(each=2, seed=partitions)
    folder = tmp_path / "history"
    synthesize(Synthesis(folder=folder, rows=900, partitions=partitions, injection=injection))
    operations = recorded.operations(folder)

    found = {one.id: frozenset(one.find(operations)) for one in CATALOGUE}
    assert not any(one.find(operations) for one in ASSUMPTIONS)
    assert all_told(found) == all_told(injection.expected())
    assert len(found["offset-order-inversion"]) >= 4
    assert len(found["stale-end-offset"]) >= 4


def test_the_analysis_finds_exactly_the_injected_rows(tmp_path: Path) -> None:
    injection = Injection(each=12)
    folder = tmp_path / "history"
    synthesize(Synthesis(folder=folder, rows=500_000, partitions=64, injection=injection))

    assert all_told(shown(analyze(folder))) == all_told(injection.expected())
