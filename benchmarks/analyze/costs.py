"""What a process and all that it started have cost: CPU seconds, and memory at the highest.

CPU is what the live processes of the tree have used, and what those that ended had: the kernel
adds that to who waited for them. Memory is proportional: a page that three processes share counts
a third in each. It is sampled, so a peak shorter than a sample can be missed.

Source: proc(5).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_S: Final = 0.2


def tree(root: int) -> Iterator[int]:
    """The process and all its descendants that live."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    todo = [root]
    while todo:
        pid = todo.pop()
        todo += children.get(pid, [])
        yield pid


class Cpu(NamedTuple):
    """CPU seconds."""

    user_s: float
    system_s: float  # in the kernel: mostly for memory that is touched first, and files


def cpu(root: int) -> Cpu:
    """What the tree has used so far."""
    ticks = [0, 0, 0, 0]  # utime, stime, cutime, cstime
    for pid in tree(root):
        if fields := _stat(pid):
            ticks = [sum(two) for two in zip(ticks, map(int, fields[11:15]), strict=True)]
    user, system, user_of_ended, system_of_ended = (it / _TICKS_PER_S for it in ticks)
    return Cpu(user + user_of_ended, system + system_of_ended)


def memory(root: int) -> int:
    """Bytes that the tree holds now."""
    return sum(_proportional(pid) for pid in tree(root))


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name, the state first; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _proportional(pid: int) -> int:
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in told.splitlines() if line.startswith("Pss:"))


@contextmanager
def _watched(root: int) -> Iterator[list[int]]:
    """A list that gets the memory of the tree, sample by sample, until the block ends."""
    samples: list[int] = []
    over = threading.Event()

    def sample() -> None:
        while not over.wait(_SAMPLE_S):
            samples.append(memory(root))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def run(module: str, *words: str) -> tuple[str, int]:
    """What `python -m module words` prints, and how many bytes its tree held at the highest."""
    command: Sequence[str] = (sys.executable, "-m", module, *words)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process, _watched(process.pid) as samples:
        told, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}")
    return told, max(samples, default=0)
