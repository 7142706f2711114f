"""A trial (a test run): records a history while a cluster is killed and started again many times.

Each start uses the data directory of the killed cluster. The clients are the clients of
`urteil record`: unmodified confluent-kafka with acks=all, idempotent or transactional.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.kills.forked import BROKERS
from checkers.record.options import RecordOptions, Workload
from checkers.record.recording import RecordResult, record
from checkers.systems.ports import consecutive
from reference_impl.disk.checkpoints import HIGH_WATERMARKS

ROOT: Final = Path(__file__).parents[2]
LOAD: Final = 600  # bytes of records that a broker writes before the next kill
LOAD_WITHIN_S: Final = 10.0
MORE_S: Final = (0.0, 0.3)  # after this load
CHECKPOINT_WITHIN_S: Final = 15.0  # a broker writes its high watermarks every five seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The options of a trial. `fault` names a seeded bug of the brokers, or is empty."""

    kills: int
    workload: Workload = "append-and-read"
    sends: int = 1_000
    pause_s: float = 0.01
    seed: int = 0
    fault: str = ""


class ForkedCluster:
    """A cluster in another process. It can be killed and started again on the same port."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process, self._port = process, port

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._do("start", "ready")

    def kill(self) -> None:
        self._do("kill", "dead")

    def _do(self, line: str, expected: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != expected:
            raise RuntimeError(f"{line}: the cluster answered {answer!r}, not {expected!r}")


@contextmanager
def forked(data_dir: Path, fault: str = "") -> Generator[ForkedCluster]:
    """Runs a cluster in a child process (`benchmarks.kills.forked`) for the duration of a `with`
    block. The cluster is killed at the end of the block.
    """
    port = consecutive(BROKERS)
    call = [sys.executable, "-m", "benchmarks.kills.forked", str(data_dir), str(port), fault]
    with subprocess.Popen(
        call, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield ForkedCluster(process, port)


def run(trial: Trial, folder: Path) -> tuple[RecordResult, Path]:
    """Runs a trial. Returns the recorded history, and the data directory of the brokers."""
    data_dir = folder / "data"
    times = random.Random(f"kills {trial.seed}")
    with forked(data_dir, trial.fault) as cluster:
        cluster.start()

        def inflict(sent: threading.Event) -> None:
            for _ in range(trial.kills):
                _await_load(data_dir, sent)
                time.sleep(times.uniform(*MORE_S))
                cluster.kill()
                cluster.start()

        options = RecordOptions(
            folder=folder / "history",
            bootstrap_servers=cluster.bootstrap_servers,
            workload=trial.workload,
            sends=trial.sends,
            pause_s=trial.pause_s,
            seed=trial.seed,
            system="served",
            fault_injector=inflict,
        )
        result = record(options)
        _await_checkpoints(data_dir)
        cluster.kill()
    return result, data_dir


def _await_load(data_dir: Path, sent: threading.Event) -> None:
    limit_s, before = time.monotonic() + LOAD_WITHIN_S, _size(data_dir)
    while _size(data_dir) < before + LOAD and not sent.is_set() and time.monotonic() < limit_s:
        time.sleep(0.01)


def _await_checkpoints(data_dir: Path) -> None:
    # replicas are compared only below the high watermarks that both have checkpointed
    limit_s = time.monotonic() + CHECKPOINT_WITHIN_S
    while not all(map(_is_checkpointed, data_dir.glob("broker-*"))):
        if time.monotonic() > limit_s:
            raise RuntimeError(f"no new {HIGH_WATERMARKS} within {CHECKPOINT_WITHIN_S:.0f} s")
        time.sleep(0.1)


def _is_checkpointed(broker: Path) -> bool:
    written = [file.stat().st_mtime_ns for file in broker.glob("*/*.log")]
    checkpoint = broker / HIGH_WATERMARKS
    return checkpoint.exists() and checkpoint.stat().st_mtime_ns > max(written, default=0)


def _size(data_dir: Path) -> int:
    # in bytes, without internal topics
    segments = (data_dir / "broker-1").glob("[!_]*/*.log")
    return sum(file.stat().st_size for file in segments)
