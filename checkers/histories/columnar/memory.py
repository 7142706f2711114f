"""Memory that was freed is kept for the next column.

Kernels make and drop arrays of some megabytes all the time. The allocators would give each back to
the operating system and ask for fresh pages, which are cleared one by one: a tenth of all CPU time
at ten million rows, and more where several processes do so. The most that is held does not change.
For the same reason all threads take from one store: what one of them freed is there for the others.

What is kept to the end is small, and would lie scattered between what was dropped, so that nothing
large fits there again: a gigabyte of gaps at a hundred million rows. It goes to a store of its own.

Source: mallopt(3).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Final

import pyarrow as pa

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
_LARGEST: Final = 32 << 20  # bytes; glibc takes no higher threshold
_NEVER: Final = 2**31 - 1
_APART: Final = "mimalloc"


@cache
def keep_freed() -> None:
    """From now on, in this process; where the C library is not glibc, nothing changes."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_TRIM_THRESHOLD, _NEVER)
        pa.set_memory_pool(pa.system_memory_pool())


def copied_aside(table: pa.Table) -> pa.Table:
    """The same rows, away from the memory in which kernels work."""
    if _APART not in pa.supported_memory_backends():
        return table
    pool = pa.mimalloc_memory_pool()
    columns = [pa.concat_arrays(column.chunks, memory_pool=pool) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)
