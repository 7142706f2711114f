"""The program of the process that a `Broker` object starts. It runs `urteil broker`, and ends when
its parent process ends.

The standard input of the process is a pipe from its parent. The pipe is closed when the parent
ends, even if the parent is killed by SIGKILL. The process then stops as it does after SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading


def main() -> None:
    """Runs the command `urteil` with the arguments of this process, until the standard input of
    this process ends.
    """
    threading.Thread(target=_stop_at_end_of_input, name="end of input", daemon=True).start()

    from checkers.cli.main import main as urteil

    urteil()


def _stop_at_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
