"""A reader of an Iceberg table with damaged metadata or delete files refuses or reads the table. It
never crashes.
"""

from __future__ import annotations

import json
import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from checkers.histories.io import iceberg
from checkers.histories.io.reading import whole
from tests.checkers.histories.io.damaged_metadata import (
    assert_never_a_crash,
    damaged_bytes,
    with_odd_values,
)

RECORDED = Path(__file__).parents[3] / "data" / "iceberg" / "operations"


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, int]:
    """Returns a copy of the table that Spark wrote, and a snapshot that can be read.

    The bytes of the copy are the same in each run. So the damage that a seed draws is also the same
    in each run.
    """
    shutil.copytree(RECORDED, tmp_path / "recorded")
    metadata = json.loads((RECORDED / "metadata" / "v5.metadata.json").read_bytes())
    return tmp_path / "recorded", metadata["snapshots"][1]["snapshot-id"]


def test_damaged_metadata_is_refused_or_read_but_never_a_crash(recorded: tuple[Path, int]) -> None:
    rng, folder = random.Random(1), recorded[0] / "metadata"
    (manifest_list,) = folder.glob(f"snap-{recorded[1]}-1-*.avro")
    manifest = folder / f"{manifest_list.stem.split('-1-')[1]}-m0.avro"
    for file in (folder / "v5.metadata.json", manifest_list, manifest):
        contents = [damaged_bytes(rng, file.read_bytes()) for _ in range(150)]
        assert_never_a_crash(partial(iceberg.files_of, *recorded), file, contents)


def test_a_delete_file_with_damaged_bytes_is_refused_or_read_but_never_a_crash(
    recorded: tuple[Path, int],
) -> None:
    rng, folder = random.Random(3), recorded[0]
    (deletes,) = folder.glob("data/*/*-deletes.parquet")
    contents = [damaged_bytes(rng, deletes.read_bytes()) for _ in range(150)]
    assert_never_a_crash(partial(whole, folder), deletes, contents)


def test_metadata_with_an_odd_value_is_refused_or_read_but_never_a_crash(
    recorded: tuple[Path, int],
) -> None:
    file = recorded[0] / "metadata" / "v5.metadata.json"
    odd = [*with_odd_values(json.loads(file.read_bytes()))]
    contents = [json.dumps(document).encode() for document in random.Random(1).sample(odd, 500)]
    assert_never_a_crash(partial(iceberg.files_of, *recorded), file, contents)
