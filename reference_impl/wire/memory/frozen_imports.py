"""Excludes imported modules from garbage collection, because a full collection stops the process.

The schemas of all messages are hundreds of thousands of objects. A full collection of these objects
takes 80 ms, in which no client is answered.

`gc.freeze` excludes all existing objects from garbage collection. It has a price: an excluded
object is never freed if it later becomes part of a cycle of garbage. So `gc.freeze` is called
rarely: once after an import, just before the next full collection.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Final

FULL: Final = 2  # the oldest generation
_modules: list[int] = [0]  # how many were imported when objects were last frozen


def freeze_imports() -> None:
    """Excludes all present objects from garbage collection, and after each import also the new
    objects.

    Call this function only in a broker's own process.
    """
    _freeze()
    if _before_collection not in gc.callbacks:
        gc.callbacks.append(_before_collection)


def _freeze() -> None:
    _modules[:] = [len(sys.modules)]
    gc.freeze()


def _before_collection(phase: str, info: dict[str, Any]) -> None:
    if phase == "start" and info["generation"] == FULL and _modules != [len(sys.modules)]:
        _freeze()
