"""Benchmarks of `urteil broker --processes`: its start, its requests, and its log of requests.

Each request is a Produce of one record with acks=all to a topic with three replicas. Two clusters
are compared while both run, and the requests alternate between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.pairs import Figure, Pairing, paired
from benchmarks.wire.client import Client, created

ROUNDS = 5
REQUESTS = 200
MAIN = "from checkers.cli.main import main; main()"
_cpu_ms: dict[str, list[float]] = {}


@dataclass
class Cluster:
    name: str
    pids: list[int]
    client: Client
    frame: bytes = field(repr=False)

    def cpu_s(self) -> float:
        tasks = (task for pid in self.pids for task in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def request(self) -> float:
        """Sends `REQUESTS` requests, and returns their mean duration in seconds. Their mean CPU
        time is added to `_cpu_ms`.
        """
        before, started = self.cpu_s(), time.perf_counter()
        for _ in range(REQUESTS):
            self.client.exchange(self.frame)
        wall_s = time.perf_counter() - started
        _cpu_ms.setdefault(self.name, []).append((self.cpu_s() - before) / REQUESTS * 1000)
        return wall_s / REQUESTS


@contextmanager
def _started(*options: str) -> Generator[dict[str, object]]:
    call = [sys.executable, "-c", MAIN, "broker", "--json", *options]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        try:
            yield {**ready, "pids": [process.pid, *ready["pids"].values()]}
        finally:
            process.terminate()


@contextmanager
def _cluster(name: str, *options: str) -> Generator[Cluster]:
    with _started(*options) as ready:
        (leader,) = created(str(ready["bootstrap_servers"]), "t", 1, 3)
        with Client(leader) as client:
            pids = [int(pid) for pid in ready["pids"]]  # type: ignore[attr-defined]
            cluster = Cluster(name, pids, client, client.produce_frame("t", 1, 100, 100))
            cluster.request()  # a warm-up
            _cpu_ms.pop(name)
            yield cluster


def run() -> list[Pairing]:
    with ExitStack() as stack:
        one, many, logging = (
            stack.enter_context(_cluster(name, *options))
            for name, options in (
                ("one process", ()),
                ("--processes", ("--processes",)),
                ("--processes --control", ("--processes", "--control", "0")),
            )
        )
        requests = [
            paired((a.name, a.request), (b.name, b.request), runs=ROUNDS, own=True)
            for a, b in ((many, one), (logging, many))
        ]
    starts = paired(
        ("--processes, until ready", lambda: _start("--processes")),
        ("one process, until ready", _start),
        runs=ROUNDS,
    )
    return [*requests, starts]


def _start(*options: str) -> None:
    with _started(*options):
        pass


def facts() -> dict[str, object]:
    """Returns the CPU milliseconds per request of each cluster, and the load of the machine."""
    cpu = {name: asdict(Figure.of(spent)) for name, spent in _cpu_ms.items()}
    return {"cpu_ms_of_a_request": cpu, "load": [round(one, 1) for one in os.getloadavg()]}
