"""Small files are read completely, and decoded from memory.

A Parquet reader reads the footer of a file, and then each column by itself. In a store, each of
these is a request. For a small file, one request for everything costs less, and so does one system
call on a local disk.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pyarrow as pa

from checkers.histories.io.locations import Place, Remote

SMALL_FILE_BYTES: Final = 1 << 20


def content_or_file(place: Place) -> Any:
    """Returns a file in a form that pyarrow opens: a small file as its content, else as the file.

    Raises OSError if a local file cannot be opened, UnreadableLocation for a file of a store.
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
