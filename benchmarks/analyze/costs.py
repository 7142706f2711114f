"""Measures the cost of a process tree: CPU seconds, wall time and peak memory.

The CPU time includes all running and ended processes: the kernel adds the time of an ended process
to the parent that waited for it. If three processes share a memory page, a third of the page counts
for each of them. Memory is sampled, so a peak between two samples can be missed.

Source: Linux, proc(5).
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_SAMPLE_S: Final = 0.2
_LEAST_PAUSE: Final = 9  # times the duration of a sample
_BECOME_REAPER: Final = 36  # PR_SET_CHILD_SUBREAPER


def tree(root: int) -> Iterator[int]:
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
    user_s: float
    system_s: float  # in the kernel: mostly first touches of memory, and files


def cpu(root: int) -> Cpu:
    """Returns the CPU time that the process tree has used so far."""
    ticks = [0, 0, 0, 0]  # utime, stime, cutime, cstime
    for pid in tree(root):
        if fields := _stat(pid):
            ticks = [sum(two) for two in zip(ticks, map(int, fields[11:15]), strict=True)]
    user, system, user_of_ended, system_of_ended = (it / _TICKS_PER_S for it in ticks)
    return Cpu(user + user_of_ended, system + system_of_ended)


@contextmanager
def cpu_counted(root: int) -> Iterator[Callable[[], Cpu]]:
    """Yields a function that returns the CPU time of the process tree so far.

    The tree is sampled repeatedly. A process that has ended counts with its latest sample. The
    kernel usually adds the time of an ended process to its parent. Spark's daemon ignores the
    signal SIGCHLD of its workers, and then the kernel adds their time to no process.
    """
    seen: dict[tuple[int, str], tuple[int, int]] = {}  # ticks, by process id and start

    def sample() -> Cpu:
        for pid in tree(root):
            if fields := _stat(pid):
                seen[pid, fields[19]] = int(fields[11]), int(fields[12])
        user, system = (sum(ticks) / _TICKS_PER_S for ticks in zip(*seen.values(), strict=True))
        return Cpu(user, system)

    with _repeated(sample):
        yield sample


class Spent(NamedTuple):
    cpu_s: float
    wall_s: float


def run_command(words: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> Spent:
    """Runs a command, and returns the cost of all its processes. Raises CalledProcessError if the
    command fails.

    The calling process adopts orphans, such as Spark's workers, so it must have no other children.
    """
    ctypes.CDLL(None).prctl(_BECOME_REAPER, 1, 0, 0, 0)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, cwd=cwd, env=dict(env), capture_output=True)
    wall_s = time.perf_counter() - began
    with suppress(ChildProcessError):  # when there are no more
        while True:
            os.waitpid(-1, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(cpu_s, wall_s)


def memory(root: int) -> int:
    return sum(_proportional(pid) for pid in tree(root))


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _proportional(pid: int) -> int:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(
        int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:")
    )


@contextmanager
def _repeated(sample: Callable[[], object]) -> Iterator[None]:
    over = threading.Event()

    def repeat() -> None:
        pause_s = _SAMPLE_S
        while not over.wait(pause_s):
            began = time.perf_counter()
            sample()
            # To sample memory, the kernel visits all pages of mapped files, which takes seconds for
            # a large history.
            pause_s = max(_SAMPLE_S, _LEAST_PAUSE * (time.perf_counter() - began))

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run(module: str, *words: str) -> tuple[str, int]:
    command: Sequence[str] = (sys.executable, "-m", module, *words)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    samples: list[int] = []
    with process, _repeated(lambda: samples.append(memory(process.pid))):
        output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}")
    return output, max(samples, default=0)
