"""Excludes imported modules from garbage collection, because a full collection stops the process.

All schemas of messages are hundreds of thousands of objects, and a full collection of them takes 80
ms, in which no client is answered.

`gc.freeze` excludes all existing objects. One that later becomes part of a cycle of garbage is
never freed. So `gc.freeze` is called only before the first full collection after an import.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Final

FULL: Final = 2  # the oldest generation
_modules: list[int] = [0]  # how many were imported when objects were last frozen


def freeze_imports() -> None:
    """Freezes all present objects, and after each import the new ones.

    Call this only in a broker's own process.
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
