"""A full garbage collection visits no objects of modules that were imported before it."""

from __future__ import annotations

import subprocess
import sys

COLLECTED = """
import gc, sys, types
from reference_impl.wire.memory.frozen_imports import freeze_imports

class Cycle:
    def __init__(self): self.itself = self

def looked_at():
    gc.collect()
    return len(gc.get_objects())

if sys.argv[1] == "frozen":
    freeze_imports()
    freeze_imports()  # once more changes nothing
else:
    gc.freeze()
imported = types.ModuleType("imported")
imported.values = [[] for _ in range(10_000)]
sys.modules["imported"] = imported
print(looked_at())
later = [[] for _ in range(10_000)]
print(looked_at())
garbage = [Cycle() for _ in range(100)]
del garbage
print(gc.collect())
"""


def collected(how: str) -> list[int]:
    call = [sys.executable, "-c", COLLECTED, how]
    ended = subprocess.run(call, capture_output=True, text=True, check=True)
    return [int(word) for word in ended.stdout.split()]


def test_a_collection_does_not_visit_imported_modules() -> None:
    after_import, without_import, garbage = collected("frozen")
    assert after_import < 1_000
    assert without_import > 10_000  # nothing was imported, so nothing was frozen
    assert garbage >= 100


def test_a_single_freeze_does_not_cover_later_imports() -> None:
    after_import, _, _ = collected("once")
    assert after_import > 10_000
