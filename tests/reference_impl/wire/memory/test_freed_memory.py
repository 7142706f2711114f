"""Freed memory stays in the process if the C library supports this."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from reference_impl.wire.memory.freed_memory import keep_freed_memory

# Page faults of a hundred responses of a megabyte, each built in two blocks.
FAULTS = """
import resource, sys
from reference_impl.wire.memory.freed_memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def respond():
    records = b"".join([bytes(500_000), bytes(500_000)])
    return b"".join([b"head", records])
respond()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    respond()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    call = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.run(call, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is a function of glibc")
def test_large_blocks_are_not_taken_from_the_system_again() -> None:
    assert faults("kept") < 3_000
    assert faults("returned") > 10_000


def test_another_system_returns_freed_memory_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "name", "nt")
        assert not keep_freed_memory()
