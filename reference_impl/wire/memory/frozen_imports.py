"""Keeps imported modules out of garbage collections, because a full collection stops the process.

A broker imports the schemas of a request when a client first sends it. All schemas together are
hundreds of thousands of objects. A full collection looks at each of them: it takes 80 ms, and no
client is answered meanwhile.

`gc.freeze` excludes all existing objects from collections. If such an object later becomes part of
a cycle of garbage, it is never freed. So objects are frozen only before the first full collection
after an import. A broker makes few imports, so little garbage is kept.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Final

FULL: Final = 2  # the oldest generation
_modules: list[int] = [0]  # how many were imported when objects were last frozen


def freeze_imports() -> None:
    """Excludes all present objects from garbage collection, so that full collections stay short.

    Before the first full collection after each import, the new objects are excluded too. Call this
    function only in a broker's own process.
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
