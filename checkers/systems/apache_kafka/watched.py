"""Starts processes that end when this process ends, even if this process is killed.

The *watchdog* is a process that outlives this one, and then kills the processes that this one has
started. A new process registers with the watchdog before it executes its program. So the watchdog
knows every running program.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from checkers.systems.apache_kafka import watchdog

# Standard input is the pipe to the watchdog until the program begins.
_REGISTERED: Final = 'echo "+$$" >&0; exec "$@" </dev/null'


def start_watchdog() -> subprocess.Popen[bytes]:
    script = [sys.executable, "-I", "-S", str(Path(watchdog.__file__))]
    return subprocess.Popen(script, stdin=subprocess.PIPE, start_new_session=True)


def start_watched(
    watching: subprocess.Popen[bytes], command: Sequence[str], output: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Starts a program and registers it with the watchdog process `watching`. The program runs in
    its own session, so that Ctrl-C reaches Urteil but not the program.
    """
    assert watching.stdin is not None
    return subprocess.Popen(
        ["sh", "-c", _REGISTERED, "sh", *command],
        stdin=watching.stdin,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def forget(watching: subprocess.Popen[bytes], pid: int) -> None:
    assert watching.stdin is not None
    watching.stdin.write(f"-{pid}\n".encode())
    watching.stdin.flush()
