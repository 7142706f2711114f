"""Freed memory is reused: a second allocation of the same size causes no page faults."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from checkers.histories.columnar.memory import copied_aside

FAULTS = """
import resource
import numpy as np
import pyarrow as pa
from checkers.histories.columnar.memory import keep_freed

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        columns = [np.ones(400_000) for _ in range(16)]
        pa.array(columns[0]).cast(pa.int64())
        columns.clear()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if {keep}:
    keep_freed()
faults(3)
print(faults(20), pa.default_memory_pool().backend_name)
"""


def measured(*, keep: bool) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(keep=keep)], capture_output=True, text=True, check=True
    )
    faults, pool = done.stdout.split()
    return int(faults), pool


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked")
def test_freed_memory_is_reused() -> None:
    faults, pool = measured(keep=True)
    assert pool == "system"
    assert faults < measured(keep=False)[0] / 4


def test_a_copy_aside_is_equal_and_in_another_pool() -> None:
    numbers = pa.array(range(1000))
    table = pa.table({"op": pa.chunked_array([numbers, numbers]), "what": ["a", None] * 1000})
    kept = copied_aside(table.slice(10, 1500))
    assert kept.equals(table.slice(10, 1500))
    assert kept.schema == table.schema
    assert all(column.num_chunks == 1 for column in kept.columns)
    if "mimalloc" in pa.supported_memory_backends():
        before = pa.mimalloc_memory_pool().bytes_allocated()
        del kept
        assert pa.mimalloc_memory_pool().bytes_allocated() < before
