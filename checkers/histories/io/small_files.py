"""Small files are read completely, and decoded from memory.

A Parquet reader reads the footer of a file, and then each column by itself: each is a request to a
store, or a system call on a local disk. For a small file, one request for everything costs less.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pyarrow as pa

from checkers.histories.io.locations import Place, Remote

SMALL_FILE_BYTES: Final = 1 << 20


def content_or_file(place: Place) -> Any:
    """Returns a file in a form that pyarrow opens: a small file as its content, else as the file.

    Raises OSError for a local file, UnreadableLocation for a file of a store.
    """
    if isinstance(place, Remote):
        file = place.native()
        if file.size() > SMALL_FILE_BYTES:
            return file
        with file:
            return pa.BufferReader(file.read())
    with place.open("rb") as local:
        if os.fstat(local.fileno()).st_size > SMALL_FILE_BYTES:
            return place
        return pa.BufferReader(local.read())
