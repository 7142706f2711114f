"""Makes glibc retain the memory of large responses, so that the next response can reuse it.

A response of a megabyte is built in two blocks of memory. By default, glibc returns the blocks to
the system after the response is sent. Then the next response causes 500 page faults, which take 1.5
ms of its 1.9 ms on a virtual machine.

Two settings of glibc prevent this (manual page mallopt(3)):

    M_TRIM_THRESHOLD    up to 64 MiB of free memory at the end of the heap stay in the process
    M_MMAP_THRESHOLD    blocks up to 32 MiB come from the heap, not from a mapping of their own
"""

from __future__ import annotations

import os
from typing import Final

KEPT_BYTES: Final = 64 * 1024 * 1024
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h: the names of the settings
_LARGEST_MMAP_THRESHOLD: Final = 32 * 1024 * 1024  # HEAP_MAX_SIZE / 2 of glibc on 64 bits


def keep_freed_memory() -> bool:
    """Makes glibc retain freed memory, and returns True if glibc accepts the settings. Returns
    False without glibc. Call this function only in a broker's own process.
    """
    if os.name != "posix":
        return False
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    )
