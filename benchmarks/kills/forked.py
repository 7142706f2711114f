"""Serves the reference broker from a child process, which can be killed and started again quickly.

    python -m benchmarks.kills.forked DATA_DIR PORT [FAULT]

The parent process has imported all modules. For each start, it forks a child that runs the cluster.
Each line of stdin is `start` or `kill`. The program prints `ready` when the cluster accepts
clients, and `dead` after a kill. At the end of stdin, the cluster is killed.

With the fault `unwritten`, the brokers store the records of every second partition only in memory.
The benchmark must then find lost records.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final

from reference_impl.disk import files, log_folder
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serve import serve

BROKERS: Final = 3
UNWRITTEN: Final = "unwritten"


def main(data_dir: str, port: str, fault: str = "") -> None:
    if fault == UNWRITTEN:
        _skip_writes()
    options = ServeOptions(brokers=BROKERS, port=int(port), data_dir=Path(data_dir))
    running = 0
    try:
        for line in sys.stdin:
            if line.strip() == "start":
                running = os.fork()
                if not running:
                    _serve(options)
            else:
                _kill(running)
                running = 0
                _say("dead")
    finally:
        _kill(running)


def _serve(options: ServeOptions) -> None:
    try:
        asyncio.run(serve(options, on_ready=lambda _: _say("ready")))
    finally:
        os._exit(1)


def _kill(process: int) -> None:
    if process:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


def _skip_writes() -> None:
    def append(path: Path, data: bytes) -> None:
        topic, _, index = path.parent.name.rpartition("-")
        is_skipped = int(index) % 2 == 0 and not topic.startswith("__")
        files.append(path, b"" if is_skipped else data)

    log_folder.__dict__["append"] = append


if __name__ == "__main__":
    main(*sys.argv[1:])
