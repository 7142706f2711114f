"""Query engines (DuckDB, Polars) find the same anomalies as the literal definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("polars")

from benchmarks.analyze import in_duckdb, in_polars
from benchmarks.analyze.injection import Injection
from benchmarks.analyze.peers import LINEARIZABLE, SHARED, Locations, location_of
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers.histories.io import recorded
from properties.anomalies.catalogue import CATALOGUE
from properties.anomalies.scenes import SCENES

PEERS = [in_duckdb, in_polars]


def literal(folder: Path) -> Locations:
    operations = recorded.operations(folder)
    return {
        one.id: frozenset(location_of(row, SHARED[one.id]) for row in one.find(operations))
        for one in CATALOGUE
        if one.id in SHARED
    }


@pytest.mark.parametrize("partitions", [1, 5])
def test_peers_find_the_locations_of_the_literal_definitions(
    tmp_path: Path, partitions: int
) -> None:
    folder = tmp_path / "history"
    injection = Injection(each=2, seed=partitions, anomalies=SCENES)
    synthesize(Synthesis(folder=folder, rows=800, partitions=partitions, injection=injection))

    right = literal(folder)
    assert all(right.values())
    for peer in PEERS:
        assert peer.linearizable(folder) == {name: right[name] for name in LINEARIZABLE}
        assert peer.everything(folder) == right


@pytest.mark.parametrize("seed", range(3))
def test_peers_find_nothing_in_a_sound_history(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "history"
    synthesize(Synthesis(folder=folder, rows=5_000, partitions=3, seed=seed))

    for peer in PEERS:
        assert peer.everything(folder) == {name: frozenset() for name in SHARED}
