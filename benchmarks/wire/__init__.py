"""Measures the reference broker, kfake and librdkafka's mock cluster in one run.

The results are:

    requests   CPU time of the server, and latency of one request. Four requests produce with
               acks=all: 1 record, 100 records, 10,000 records, and 10,000 records of different
               lengths. The fifth request fetches a megabyte
    sessions   CPU time of a fetch of 500 partitions without new records, with and without a fetch
               session
    partitions CPU time of a produce request with 500 partitions, divided by the CPU time of a
               request with one partition. Two clusters run at the same time, one for each kind of
               request, and the requests alternate
    idle       share of a core that a cluster of three brokers with 500 partitions uses
    start      seconds until `urteil broker` is ready, with and without bytecode of the modules
    log        time of an append to a log of a million batches

All systems are measured with one partition and one replica, because kfake and the mock do not
replicate. The reference broker is also measured with three replicas. The result has the load
average of the machine before and after the run, because other work affects latencies more than CPU
times.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from typing import Final

from confluent_kafka import libversion

from benchmarks.pairs import Figure, Pairing
from benchmarks.wire.client import MEGABYTE, Client, created
from benchmarks.wire.systems import OURS, SYSTEMS, System
from model.vocabulary import LeaderEpoch, Offset
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, stamped
from reference_impl.log.segment import Batch

ROUNDS: Final = 5
REPLICATED: Final = f"{OURS}, three replicas"
PARTITIONS: Final = 500
PAIRED_ROUNDS: Final = 15
SETTLES_S: Final = 12.0  # brokers apply the metadata, and write their first checkpoints
IDLE_S: Final = 10.0
LONG: Final = 1_000_000
# name: records of a request, bytes of the shortest and the longest value, requests of a round
PRODUCES: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "produce 1 record": (1, 100, 100, 300),
    "produce 100 records": (100, 100, 100, 100),
    "produce 10,000 records": (10_000, 20, 20, 10),
    "produce 10,000 records of different lengths": (10_000, 10, 30, 10),
}
FETCH: Final = "fetch 1 MB"
FETCHES: Final = 50
SESSION_FETCHES: Final = 20
Spent = tuple[float, float]  # CPU seconds of the server, seconds of the client; of one request


def run() -> list[Pairing]:
    return []  # `facts` compares CPU times of servers, not wall times of two functions


def facts() -> dict[str, object]:
    before = os.getloadavg()[0]
    requests, response_bytes = _requests()
    return {
        "rounds": ROUNDS,
        "confluent-kafka": version("confluent-kafka"),
        "librdkafka": libversion()[0],
        "niceness": os.nice(0),
        "load_before": round(before, 1),
        "requests_ms": requests,
        "fetched_bytes": response_bytes,
        "cpu_ratio": _ratios(requests),
        "fetch_500_partitions": _sessions(),
        "produce_with_500_partitions": {
            "one replica": _wide(1),
            "three replicas": _wide(3),
        },
        "idle": _idle(),
        "start_s": _starts(),
        "log": _log(),
        "load_after": round(os.getloadavg()[0], 1),
    }


# ---------------------------------------------------------------- requests


def _requests() -> tuple[dict[str, dict[str, dict[str, object]]], dict[str, int]]:
    """Returns the CPU time and the latency of every request in ms, and the size of the fetch
    response of each system.
    """
    # librdkafka's mock responds with less than a megabyte: its fetch time is not comparable.
    found: dict[str, dict[str, list[Spent]]] = {name: {} for name in (*PRODUCES, FETCH)}
    with ExitStack() as stack:
        clients: dict[str, tuple[System, dict[str, tuple[Client, bytes, int]]]] = {}
        for name, replicas in {**dict.fromkeys(SYSTEMS, 1), REPLICATED: 3}.items():
            start = SYSTEMS[OURS if name == REPLICATED else name]
            system = stack.enter_context(start(replicas))
            clients[name] = system, _prepared(stack, system, replicas)
        for _ in range(ROUNDS):
            for request, by_system in found.items():
                for name, (system, prepared) in clients.items():
                    spent = _measured(system, *prepared[request])
                    by_system.setdefault(name, []).append(spent)
        fetched = {
            name: _response_bytes(*prepared[FETCH]) for name, (_, prepared) in clients.items()
        }
    spent_ms: dict[str, dict[str, dict[str, object]]] = {
        request: {
            name: {
                "cpu": asdict(Figure.of([cpu * 1000 for cpu, _ in spent])),
                "latency": asdict(Figure.of([wall * 1000 for _, wall in spent])),
            }
            for name, spent in by_system.items()
        }
        for request, by_system in found.items()
    }
    return spent_ms, fetched


def _response_bytes(client: Client, frame: bytes, times: int) -> int:
    del times
    return len(client.exchange(frame))


def _prepared(
    stack: ExitStack, system: System, replicas: int
) -> dict[str, tuple[Client, bytes, int]]:
    requests: dict[str, tuple[Client, bytes, int]] = {}
    for number, (name, (records, least, most, times)) in enumerate(PRODUCES.items()):
        topic = f"produce-{number}"
        client = stack.enter_context(Client(created(system.servers, topic, 1, replicas)[0]))
        frame = client.produce_frame(topic, records, least, most)
        requests[name] = client, frame, times
        client.exchange(frame)
    client = stack.enter_context(Client(created(system.servers, "fetched", 1, replicas)[0]))
    for _ in range(20):
        client.exchange(client.produce_frame("fetched", 100, 1_000, 1_000))
    frame = client.fetch_frame("fetched", MEGABYTE)
    deadline = time.monotonic() + 5
    while len(client.exchange(frame)) < MEGABYTE * 0.8 and time.monotonic() < deadline:
        time.sleep(0.05)  # the high watermark is still below the last batches
    return {**requests, FETCH: (client, frame, FETCHES)}


def _measured(system: System, client: Client, frame: bytes, times: int) -> Spent:
    before = system.cpu_s()
    started = time.perf_counter()
    for _ in range(times):
        client.exchange(frame)
    wall_s = time.perf_counter() - started
    return (system.cpu_s() - before) / times, wall_s / times


def _ratios(requests: dict[str, dict[str, dict[str, object]]]) -> dict[str, dict[str, float]]:
    def median(request: str, name: str) -> float:
        figure = requests[request][name]["cpu"]
        assert isinstance(figure, dict)
        return float(figure["median"])

    # median CPU time of the reference broker, divided by that of the other system
    return {
        request: {
            name: round(median(request, OURS) / median(request, name), 2)
            for name in by_system
            if name != OURS and median(request, name)
        }
        for request, by_system in requests.items()
    }


# ---------------------------------------------------------------- fetch sessions


def _sessions() -> dict[str, object]:
    """Returns the CPU times of full and of incremental Fetch requests for 500 partitions without
    new records.
    """
    found: dict[str, list[Spent]] = {"full": [], "of a session": []}
    with SYSTEMS[OURS](1) as system:
        leader = created(system.servers, "wide", PARTITIONS, 1)[0]
        with Client(leader) as client:
            full = client.fetch_frame("wide", MEGABYTE, partitions=PARTITIONS, max_wait_ms=0)
            session = client.begin_session("wide", PARTITIONS)
            for turn in range(ROUNDS):
                found["full"].append(_measured(system, client, full, SESSION_FETCHES))
                frames = (
                    client.session_frame(session, 1 + turn * SESSION_FETCHES + number)
                    for number in range(SESSION_FETCHES)
                )
                before, started = system.cpu_s(), time.perf_counter()
                for frame in frames:
                    client.exchange(frame)
                wall_s = time.perf_counter() - started
                spent = (system.cpu_s() - before) / SESSION_FETCHES, wall_s / SESSION_FETCHES
                found["of a session"].append(spent)
    return {
        name: {"cpu_ms": asdict(Figure.of([cpu * 1000 for cpu, _ in spent]))}
        for name, spent in found.items()
    }


# ---------------------------------------------------------------- idle


def _idle() -> dict[str, object]:
    found: dict[str, object] = {}
    for partitions in (1, PARTITIONS):
        with SYSTEMS[OURS](3) as system:
            created(system.servers, "wide", partitions, 3)
            time.sleep(SETTLES_S)
            before = system.cpu_s()
            time.sleep(IDLE_S)
            share = (system.cpu_s() - before) / IDLE_S
            found[f"{partitions} partitions"] = {"core_share": round(share, 4)}
    return found


# ---------------------------------------------------------------- many partitions


def _wide(replicas: int) -> dict[str, object]:
    found: dict[int, list[float]] = {1: [], PARTITIONS: []}
    with ExitStack() as stack:
        clients: list[tuple[int, System, Client, bytes]] = []
        for partitions in found:
            system = stack.enter_context(SYSTEMS[OURS](replicas))
            leader = created(system.servers, "wide", partitions, replicas)[0]
            client = stack.enter_context(Client(leader))
            frame = client.produce_frame("wide", 1, 100, 100)
            clients.append((partitions, system, client, frame))
        time.sleep(SETTLES_S)
        for _ in range(PAIRED_ROUNDS):
            for partitions, system, client, frame in clients:
                cpu_s, _ = _measured(system, client, frame, 200)
                found[partitions].append(cpu_s * 1000)
    pairs = zip(found[PARTITIONS], found[1], strict=True)
    return {
        "cpu_ms": {f"{count} partitions": asdict(Figure.of(ms)) for count, ms in found.items()},
        "ratio": asdict(Figure.of([many / one for many, one in pairs])),
    }


# ---------------------------------------------------------------- start


def _starts() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        cold = [_ready({"PYTHONPYCACHEPREFIX": f"{folder}/{number}"}) for number in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        _ready({"PYTHONPYCACHEPREFIX": folder})
        warm = [_ready({"PYTHONPYCACHEPREFIX": folder}) for _ in range(ROUNDS)]
    return {
        name: {
            "until_ready": asdict(Figure.of([wall for wall, _ in spent])),
            "cpu": asdict(Figure.of([cpu for _, cpu in spent])),
        }
        for name, spent in {"without bytecode": cold, "warm": warm}.items()
    }


def _ready(environment: Mapping[str, str]) -> Spent:
    main = "from checkers.cli.main import main; main()"
    call = [*_on_one_core(), sys.executable, "-c", main, "broker"]
    started = time.perf_counter()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONDONT")}
    with subprocess.Popen(
        call, stdout=subprocess.PIPE, text=True, env={**kept, **environment}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        wall_s = time.perf_counter() - started
        cpu_s = System(OURS, "", process).cpu_s()
        process.terminate()
    return wall_s, cpu_s


def _on_one_core() -> list[str]:
    return ["taskset", "-c", "0"]


# ---------------------------------------------------------------- the log


def _log() -> dict[str, object]:
    """Returns the times in ms of an append to a short log, and of an append to a log of a million
    batches.
    """
    data = encode([Record(value=b"v")])
    batches = [
        Batch.of(stamped(data, base_offset=Offset(at), leader_epoch=LeaderEpoch(0)))
        for at in range(LONG + 2_000)
    ]
    log = PartitionLog()
    short: list[float] = []
    for batch in batches[:1_000]:
        log = _append(log, batch, short)
    for batch in batches[1_000:LONG]:
        log = log.append(batch)
    long: list[float] = []
    for batch in batches[LONG:]:
        log = _append(log, batch, long)
    return {
        "batches": LONG,
        "append_ms_first_thousand": asdict(Figure.of(short)),
        "append_ms_after_all": asdict(Figure.of(long)),
    }


def _append(log: PartitionLog, batch: Batch, spent: list[float]) -> PartitionLog:
    started = time.perf_counter()
    log = log.append(batch)
    spent.append((time.perf_counter() - started) * 1000)
    return log
