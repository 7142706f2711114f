"""The process that a `Broker` object starts: `urteil broker`, which never outlives its parent.

Its standard input is a pipe, which ends with the parent, even by SIGKILL; the process then stops as
after SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading


def main() -> None:
    """Runs `urteil` with this process's arguments, until its standard input ends."""
    threading.Thread(target=_stop_at_end_of_input, name="end of input", daemon=True).start()

    from checkers.cli.main import main as urteil

    urteil()


def _stop_at_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
