"""Reads the records of a batch in compiled C, a hundred times faster than Python.

A process that has a C compiler compiles `SOURCE` and calls `use` with the loaded library. Until
then, `facts_compiled` always returns None, and Python reads the records.

The function `_facts` of the module `validation` defines the result. Tests compare the C code with
it on valid, changed and random bytes. The C code reads no byte outside of the records.
"""

from __future__ import annotations

import ctypes
from importlib.resources import files
from typing import Final

from reference_impl.protocol.messages import NO_TIMESTAMP
from reference_impl.protocol.record_facts import RecordFacts

SOURCE: Final = "compiled_scan.c"
_libraries: list[ctypes.CDLL] = []  # at most one


class _Facts(ctypes.Structure):
    """The struct `facts` of the C code."""

    _fields_ = (
        ("max_timestamp_ms", ctypes.c_int64),
        ("lacks_keys", ctypes.c_int32),
        ("is_in_sequence", ctypes.c_int32),
    )


def source() -> str:
    """Returns the C code, to be compiled as a shared library."""
    return files("reference_impl.log").joinpath(SOURCE).read_text()


def use(library: ctypes.CDLL) -> None:
    """Lets this process read records with the compiled library."""
    library.scan_records.restype = ctypes.c_int32
    library.scan_records.argtypes = (
        ctypes.c_char_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
    )
    _libraries[:] = [library]


def facts_compiled(records: bytes, count: int, base_timestamp_ms: int) -> RecordFacts | None:
    """Returns the facts of `validation.scan` about `count` decompressed records.

    Returns None if there is no compiled library, or if the records are malformed.
    """
    if not _libraries:
        return None
    found = _Facts()
    is_valid = _libraries[0].scan_records(
        records, len(records), count, base_timestamp_ms, ctypes.addressof(found)
    )
    if not is_valid:
        return None
    latest_ms = found.max_timestamp_ms if count else NO_TIMESTAMP
    return RecordFacts(latest_ms, bool(found.lacks_keys), bool(found.is_in_sequence))
