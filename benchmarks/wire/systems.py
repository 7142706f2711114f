"""Starts each measured system in a process of its own, and reads the CPU time of the system's
process.

The reference broker is `urteil broker`. librdkafka's mock cluster runs in a Python process that
does nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.systems.peers import KFAKE, MOCK

OURS: Final = "urteil broker"
SERVED_MOCK: Final = """
import sys
from checkers.systems.peers import librdkafka_mock
from checkers.systems.system import Layout
with librdkafka_mock(Layout(brokers=int(sys.argv[1]))) as mock:
    print(mock.bootstrap_servers, flush=True)
    sys.stdin.read()
"""
SERVED_KFAKE: Final = """
import sys
from checkers.systems import peers
print(peers._built())
"""


@dataclass(frozen=True, slots=True)
class System:
    name: str
    servers: str
    process: subprocess.Popen[str]

    def cpu_s(self) -> float:
        """Returns the CPU seconds of the system's process, over all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks.iterdir()) / 1e9


@contextmanager
def _started(name: str, call: list[str]) -> Generator[System]:
    with subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        try:
            yield System(name, line.removeprefix("ready: "), process)
        finally:
            process.terminate()


def reference_broker(brokers: int) -> AbstractContextManager[System]:
    main = "from checkers.cli.main import main; main()"
    call = [sys.executable, "-c", main, "broker", "--brokers", str(brokers)]
    return _started(OURS, call)


def mock(brokers: int) -> AbstractContextManager[System]:
    return _started(MOCK, [sys.executable, "-c", SERVED_MOCK, str(brokers)])


def kfake(brokers: int) -> AbstractContextManager[System]:
    """Starts kfake. If kfake was never built on this machine, it is built first."""
    built = subprocess.run(
        [sys.executable, "-c", SERVED_KFAKE], capture_output=True, text=True, check=True
    )
    return _started(KFAKE, [built.stdout.strip(), str(brokers)])


SYSTEMS: Final[Mapping[str, Callable[[int], AbstractContextManager[System]]]] = {
    OURS: reference_broker,
    KFAKE: kfake,
    MOCK: mock,
}
