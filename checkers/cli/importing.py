"""Speeds up the imports of a command: it prevents garbage collections and threads for linear
algebra.

This saves a tenth of the time of a short command. A collection during the imports would examine the
objects of some 500 modules and find no garbage, and NumPy would start a thread for each core.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

# the variables that set the number of OpenBLAS's threads, the strongest first
BLAS_THREADS: Final = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


@contextmanager
def importing() -> Generator[None]:
    """Pauses the garbage collector while the `with` block imports modules.

    If the block has imported a module, all objects that exist at its end are excluded from later
    collections. Garbage of earlier work would then stay in memory, so commands use this function
    before their work begins.
    """
    if not gc.isenabled():  # inside another such block
        yield
        return
    before = len(sys.modules)
    gc.disable()
    try:
        with _one_blas_thread():
            yield
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        gc.enable()


@contextmanager
def _one_blas_thread() -> Generator[None]:
    if any(name in os.environ for name in BLAS_THREADS):
        yield
        return
    name = BLAS_THREADS[0]
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name, None)  # other programs may need the threads
