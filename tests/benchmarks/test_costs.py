"""The CPU time of a process tree includes processes that have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from benchmarks.analyze.costs import cpu, cpu_counted

BUSY_S = 0.6
BUSY = f"import time\nwhile time.process_time() < {BUSY_S}: pass\ntime.sleep(1)"  # for a sample


def test_a_child_whose_end_nobody_notices_counts_with_its_last_sample() -> None:
    """The parent ignores SIGCHLD, as a daemon of Spark does. Then the system does not add the
    child's CPU time to the parent's, so the last sample counts.
    """
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with cpu_counted(os.getpid()) as counted:
            began = sum(counted()) - sum(cpu(os.getpid()))
            child = subprocess.Popen([sys.executable, "-c", BUSY])
            while os.path.exists(f"/proc/{child.pid}"):
                time.sleep(0.01)
            child.wait()
            ended = sum(counted()) - sum(cpu(os.getpid()))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert ended - began > BUSY_S / 2  # only the first function counts the child
