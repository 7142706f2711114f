"""The fuzz targets for tables and Avro read valid inputs. Changed inputs are refused or read, and
raise no other error.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkers.histories.io import delta as delta_tables
from model.faults import InputFault
from tests.checkers.histories.io.damaged_metadata import damaged_bytes
from tests.checkers.histories.io.described_tables import remaining
from tools.fuzz import avro, delta, iceberg
from tools.fuzz.__main__ import of_valid_input

ROOT = Path(__file__).parents[3]
TARGETS: list[tuple[ModuleType, ModuleType, str]] = [
    (avro, avro, "operations"),
    (delta, delta_tables, "files_of"),
    (iceberg, iceberg, "operations"),
]


@pytest.mark.parametrize(("target", "module", "name"), TARGETS)
def test_a_valid_input_is_read_and_a_changed_one_is_refused_or_read(
    target: Any, module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[bool] = []
    reader: Callable[..., Any] = getattr(module, name)

    def noted(*arguments: Any) -> Any:
        try:
            found = reader(*arguments)
        except InputFault:
            outcomes.append(False)
            raise
        outcomes.append(True)
        return found

    valid = [*target.valid_inputs()]
    monkeypatch.setattr(module, name, noted)
    for data in valid:
        target.run(data)
    assert outcomes == [True] * len(valid)
    outcomes.clear()
    for data in changed(valid):
        try:
            target.run(data)
        except Exception as fault:
            fault.add_note(f"the input: {data.hex()}")
            raise
    assert 0 < sum(outcomes) < len(outcomes)

    def overflow(*_: Any) -> None:
        raise OverflowError("seeded")

    monkeypatch.setattr(module, name, overflow)
    with pytest.raises(OverflowError, match="seeded"):
        target.run(valid[0])


def changed(valid: list[bytes]) -> Iterator[bytes]:
    rng = random.Random(1)
    for data in valid:
        for _ in range(20):
            yield data[:1] + damaged_bytes(rng, data[1:])


INPUTS = """
from tools.fuzz import avro, delta, iceberg
for target in (avro, delta, iceberg):
    print(*map(bytes.hex, target.valid_inputs()))
"""


def test_the_valid_inputs_are_the_same_in_each_run() -> None:
    call = [sys.executable, "-c", INPUTS]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True)
    here = [[*map(bytes.hex, target.valid_inputs())] for target in (avro, delta, iceberg)]
    assert [line.split() for line in done.stdout.splitlines()] == here


def test_the_table_has_the_rows_of_its_description() -> None:
    assert iceberg.operations() == remaining(iceberg.TABLE) == [0]


def test_half_of_the_mutated_inputs_are_valid_ones_and_each_is_among_them() -> None:
    valid = [b"a", b"b", b"c"]
    chosen = [of_valid_input(b"other", valid, seed) for seed in range(12)]
    assert Counter(chosen) == {b"other": 6, b"a": 2, b"b": 2, b"c": 2}
