"""Reads a small file completely, and decodes it from memory.

A Parquet reader reads the footer of a file, and then reads each column separately. Each of these
reads is a request to a store, or a system call on a local disk. A single request for the whole
content of a small file costs less.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pyarrow as pa

from checkers.histories.io.locations import Place, Remote

SMALL_FILE_BYTES: Final = 1 << 20


def content_or_file(place: Place) -> Any:
    """Returns a file in a form that pyarrow can open: the content of a small file, or a handle or
    path of a large file.

    Raises OSError if a local file cannot be read, and UnreadableLocation if a file in a store
    cannot be read.
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
