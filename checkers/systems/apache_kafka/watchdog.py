"""Kills the processes of a cluster when the process that started them has ended.

This script reads lines from standard input. The line `+PID` means that a process was started, and
the line `-PID` means that a process has ended. When the input ends, the script kills every process
that was started and has not ended. The script imports nothing of Urteil, so it starts in
milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the starting process first
    running: set[int] = set()
    for line in sys.stdin:
        sign, pid = line[0], int(line[1:])
        (running.add if sign == "+" else running.discard)(pid)
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
