"""Appends the records of a week, 1,000 for each second, to `urteil broker --data-dir`.

    python -m benchmarks.week                 all runs: 10 to 30 minutes, and 6 GB of disk
    python -m benchmarks.week --days 0.1      the same runs, shorter

A week has 604,800,000 records. They are appended as fast as possible, with timestamps that advance
by one millisecond for each record. There are three runs:

    large batches           10,000 records in a batch, as if producers had a large linger.ms
    large, with retention   10,000 records in a batch; retention.bytes keeps about one day
    small batches           100 records in a batch, as if a producer sent ten times a second

The run with small batches appends only the records of a day. Each run has one broker, one partition
and 10 idempotent producers. It measures the broker 56 times: memory (RSS), CPU time, the longest
response time since the previous measurement, and the bytes and the number of files in the data
directory. At the end, the broker restarts, and the time until it is ready is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from benchmarks.pairs import write_results
from benchmarks.wire.client import Client, created
from benchmarks.wire.systems import OURS, System
from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import (
    HEADER_SIZE,
    SEQUENCE_NUMBERS,
    encode,
    header,
    with_records,
)
from reference_impl.wire.messages import plain_messages
from reference_impl.wire.messages.apis import Api

RATE: Final = 1_000  # records in a second of the simulated time
DAY_S: Final = 86_400
WEEK_DAYS: Final = 7.0
NOTES: Final = 56  # of each run
PRODUCERS: Final = 10
TOPIC: Final = "week"
MIB: Final = 2**20
_BROKER: Final = "from checkers.cli.main import main; main()"
_SETTINGS: Final = ("log.retention.check.interval.ms=1000",)


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    records: int
    days: float
    kept_days: float | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """The memory, time and disk space of the broker after the records of `day` days."""

    day: float
    batches: int
    memory_mib: float
    cpu_s: float
    longest_ms: float
    disk_mib: float
    files: int


def runs(days: float) -> tuple[Run, ...]:
    return (
        Run("large batches", 10_000, days),
        Run("large batches, with retention", 10_000, days, kept_days=days / WEEK_DAYS),
        Run("small batches", 100, days / WEEK_DAYS),
    )


def measured(run: Run) -> dict[str, Any]:
    """Conducts a run. Returns the measurements (`notes`), the growth of memory per day, and the
    cost of a restart.
    """
    with tempfile.TemporaryDirectory() as folder:
        with broker(Path(folder)) as system:
            notes = [*_append(run, system, Path(folder))]
        started = time.perf_counter()
        with broker(Path(folder)) as system:
            ready_s = time.perf_counter() - started
            restarted_mib, restarted_cpu_s = memory_mib(system), system.cpu_s()
    half = notes[len(notes) // 2]
    return {
        "run": asdict(run),
        "records": notes[-1].batches * run.records,
        "cpu_ms_per_batch": round(notes[-1].cpu_s * 1000 / notes[-1].batches, 3),
        # only of the second half, in which the caches are full
        "memory_growth_mib_per_day": round(
            (notes[-1].memory_mib - half.memory_mib) / (notes[-1].day - half.day), 2
        ),
        "restart": {
            "ready_s": round(ready_s, 2),
            "cpu_s": round(restarted_cpu_s, 2),
            "memory_mib": restarted_mib,
        },
        "notes": [asdict(note) for note in notes],
    }


@contextmanager
def broker(folder: Path) -> Generator[System]:
    """Runs `urteil broker` with this data directory for the duration of a `with` block. The broker
    is stopped cleanly at the end of the block.
    """
    settings = [word for one in _SETTINGS for word in ("--broker-config", one)]
    call = [sys.executable, "-c", _BROKER, "broker", "--brokers", "1", "--data-dir", str(folder)]
    with subprocess.Popen([*call, *settings], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        try:
            yield System(OURS, line.removeprefix("ready: "), process)
        finally:
            process.terminate()
            process.wait()


def memory_mib(system: System) -> float:
    lines = Path(f"/proc/{system.process.pid}/status").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith("VmRSS")]
    return round(int(line.split()[1]) / 1024, 1)


def _append(run: Run, system: System, folder: Path) -> Iterator[Note]:
    total = round(run.days * DAY_S * RATE / run.records)
    every = max(1, total // NOTES)
    leader = _topic(run, system.servers)
    began_s, longest_s = system.cpu_s(), 0.0
    with Client(leader) as client:
        for number, data in zip(range(1, total + 1), batches(run.records), strict=False):
            frame = client.frame(Api.PRODUCE, _produce(data))
            sent_s = time.perf_counter()
            answer = client.exchange(frame)
            longest_s = max(longest_s, time.perf_counter() - sent_s)
            if number % every == 0:
                _check(client, answer, (number - 1) * run.records)
                sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
                yield Note(
                    round(number * run.records / RATE / DAY_S, 6),
                    number,
                    memory_mib(system),
                    round(system.cpu_s() - began_s, 2),
                    round(longest_s * 1000, 1),
                    round(sum(sizes) / MIB, 1),
                    len(sizes),
                )
                longest_s = 0.0


def batches(records: int) -> Iterator[bytes]:
    """Yields batches of `records` records each, from several idempotent producers in turn, without
    end.
    """
    rng = random.Random(1)
    first_ms = int(time.time() * 1000) - round(WEEK_DAYS * DAY_S * 1000)
    texts = (f"sensor={rng.randrange(50):02} celsius={rng.gauss(20, 3):.2f}" for _ in count())
    pattern = encode(
        [Record(value=next(texts).encode(), timestamp_ms=at) for at in range(records)],
        compression="zstd",
    )
    head, packed = header(pattern), pattern[HEADER_SIZE:]
    for number in count():
        base_ms = first_ms + number * records
        turn, producer = divmod(number, PRODUCERS)
        changed = head._replace(
            base_timestamp_ms=base_ms,
            max_timestamp_ms=base_ms + records - 1,
            producer_id=ProducerId(1_000 + producer),
            producer_epoch=ProducerEpoch(0),
            base_sequence=Sequence(turn * records % SEQUENCE_NUMBERS),
        )
        yield with_records(changed, packed, "zstd")


def _topic(run: Run, servers: str) -> str:
    kept = -1
    if run.kept_days is not None:
        batch_bytes = len(next(batches(run.records)))
        kept = round(batch_bytes * DAY_S * RATE / run.records * run.kept_days)
    configs = {"retention.ms": -1, "retention.bytes": kept}
    wanted = {
        "name": TOPIC,
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [{"name": name, "value": str(value)} for name, value in configs.items()],
    }
    with Client(servers) as client:
        client.call(Api.CREATE_TOPICS, topics=[wanted], timeout=30_000, validate_only=False)
    (leader,) = created(servers, TOPIC, 1, 1)
    return leader


def _produce(data: bytes) -> dict[str, Any]:
    topics = [{"name": TOPIC, "partition_data": [{"index": 0, "records": data}]}]
    return {"acks": -1, "timeout": 30_000, "topic_data": topics}


def _check(client: Client, answer: bytes, offset: int) -> None:
    found = plain_messages.decode(Api.PRODUCE, client.version(Api.PRODUCE), answer)
    (one,) = found["responses"][0]["partition_responses"]
    assert (one["error_code"], one["base_offset"]) == ("NONE", offset), one


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.week")
    parser.add_argument("--days", type=float, default=WEEK_DAYS)
    options = parser.parse_args(words)
    found = []
    for run in runs(options.days):
        found.append(measured(run))
        sys.stdout.write(json.dumps({**found[-1], "notes": found[-1]["notes"][-1:]}) + "\n")
        sys.stdout.flush()
    facts = {"niceness": os.nice(0), "load_after": round(os.getloadavg()[0], 1), "runs": found}
    sys.stdout.write(f"  kept in {write_results('week', [], facts)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
