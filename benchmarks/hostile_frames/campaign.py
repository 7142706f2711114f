"""Sends hostile frames to three brokers of the reference implementation, over the network.

Meanwhile, a healthy client measures its latencies. There are three processes:

    server      a separate process, so that the benchmark notices its death
    healthy     another process, which produces one record after the other
    hostile     this process: each connection sends a frame, and waits a moment for the response

The frames are damaged copies of valid requests, noise after a valid header, valid requests, and
some of the largest requests that are permitted. The hostile process has a low priority, because its
own work is not measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import resource
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from benchmarks.hostile_frames import healthy
from benchmarks.hostile_frames.requests import damaged, noise, request, versions
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.frame_limits import LIMITS
from reference_impl.wire.messages.versions import VERSIONS

VALID_EACH: Final = 4  # valid requests of each API and version; damaged frames are copies of them
ANSWER_S: Final = 0.2  # how long a hostile client waits for a response
LOW_PRIORITY: Final = 10
QUIET_S: Final = 10.0
IDLE: Final = 2_000
IDLE_S: Final = 5.0
KINDS: Final = {"damaged": 75, "noise": 15, "valid": 9, "largest": 1}
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SERVER: Final = """
import asyncio
from reference_impl.wire.memory.frozen_imports import freeze_imports
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serve import serve
def ready(cluster):
    freeze_imports()
    print(cluster.bootstrap_servers, flush=True)
asyncio.run(serve(ServeOptions(brokers=3), on_ready=ready))
"""


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[str]
    servers: str
    log: Path

    @property
    def cpu_s(self) -> float:
        values = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(values[11]) + int(values[12])) / _TICKS

    @property
    def peak_mib(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [one for one in text.splitlines() if one.startswith("VmHWM")]
        return round(int(line.split()[1]) / 1024, 1)

    @property
    def bugs(self) -> dict[str, int]:
        """The number of exceptions in the server's log, by the last line of the traceback."""
        lines = self.log.read_text().splitlines()
        inside = [n for n, line in enumerate(lines) if line.startswith(("  File", "    "))]
        ends = (lines[n + 1] for n in inside if n + 1 < len(lines) and lines[n + 1][:1].isalpha())
        return dict(Counter(ends))


@contextlib.contextmanager
def served() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as errors, _process(errors) as process:
            assert process.stdout is not None
            try:
                yield Server(process, process.stdout.readline().strip(), log)
            finally:
                process.send_signal(signal.SIGTERM)


def _process(errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, stderr=errors, text=True
    )


def campaign(frames: int, connections: int, seed: int) -> dict[str, Any]:
    """Attacks a server with hostile frames. Returns the frame counts by result, the latencies
    before and during the attack, the CPU time, and the memory of the server.
    """
    with served() as server:
        quiet, _ = measured(server, lambda: time.sleep(QUIET_S))
        cpu_s, priority = server.cpu_s, os.nice(0)
        began_s = time.perf_counter()
        hostile, sent = measured(
            server, lambda: asyncio.run(attack(server, frames, connections, seed))
        )
        return {
            "frames": frames,
            "seed": seed,
            "hostile_connections": connections,
            "niceness": {"server, healthy client": priority, "hostile process": os.nice(0)},
            "sent": dict(sorted(sent.items())),
            "seconds": round(time.perf_counter() - began_s, 1),
            "cpu_seconds_of_the_server": round(server.cpu_s - cpu_s, 1),
            "peak_memory_mib": server.peak_mib,
            "server_is_up": server.process.poll() is None,
            "bugs": server.bugs,
            "healthy_before_ms": quiet,
            "healthy_meanwhile_ms": hostile,
            "load_average": os.getloadavg()[0],
        }


def measured(server: Server, work: Any) -> tuple[dict[str, Any], Any]:
    """Runs `work` while a healthy client sends requests. Returns the latencies of the client as
    percentiles in ms, and the result of `work`.
    """
    context = multiprocessing.get_context("spawn")
    begun, stop = context.Event(), context.Event()
    with context.Pool(1, _share, (begun, stop)) as pool:
        running = pool.apply_async(_healthy, (server.servers,))
        while not begun.wait(0.1):
            if running.ready():
                running.get()
        done = work()
        stop.set()
        found = running.get(timeout=120)
    return summary(found), done


_shared: list[Any] = []


def _share(*events: Any) -> None:
    _shared.extend(events)


def _healthy(servers: str) -> list[float]:
    return healthy.latencies_ms(servers, *_shared)


def summary(values_ms: list[float]) -> dict[str, Any]:
    cuts = statistics.quantiles(values_ms, n=1000)
    return {
        "requests": len(values_ms),
        "p50": round(cuts[499], 2),
        "p99": round(cuts[989], 2),
        "p99.9": round(cuts[998], 2),
        "max": round(max(values_ms), 2),
    }


# ---------------------------------------------------------------- hostile connections


async def attack(server: Server, frames: int, connections: int, seed: int) -> Counter[str]:
    """Sends random frames. Returns their number by kind and result, such as `damaged, closed`."""
    rng = random.Random(seed)
    valid = [
        request(api, version, rng).data
        for api in VERSIONS
        for version in versions(api)
        for _ in range(VALID_EACH)
    ]
    os.nice(LOW_PRIORITY)
    counts: Counter[str] = Counter()
    share = [frames // connections + (n < frames % connections) for n in range(connections)]
    places = server.servers.split(",")
    await asyncio.gather(
        *(
            _one(places[n % len(places)], count, valid, random.Random(f"{seed} {n}"), counts)
            for n, count in enumerate(share)
        )
    )
    return counts


async def _one(
    place: str, count: int, valid: list[bytes], rng: random.Random, counts: Counter[str]
) -> None:
    host, port = place.split(":")
    kinds, weights = [*KINDS], [*KINDS.values()]
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    for _ in range(count):
        (kind,) = rng.choices(kinds, weights)
        frame = _frame(kind, valid, rng)
        if streams is None:
            streams = await asyncio.open_connection(host, int(port))
        reader, writer = streams
        try:
            writer.write(struct.pack(">i", len(frame)) + frame)
            await writer.drain()
            async with asyncio.timeout(ANSWER_S * (50 if kind == "largest" else 1)):
                (length,) = struct.unpack(">i", await reader.readexactly(4))
                await reader.readexactly(length)
            end = "answered"
        except TimeoutError:
            end = "not answered in time"
        except (ConnectionError, asyncio.IncompleteReadError):
            end = "closed"
        counts[f"{kind}, {end}"] += 1
        if end != "answered":
            writer.transport.abort()
            streams = None
    if streams is not None:
        streams[1].transport.abort()


def _frame(kind: str, valid: list[bytes], rng: random.Random) -> bytes:
    match kind:
        case "noise":
            return noise(rng)
        case "valid":
            return rng.choice(valid)
        case "largest":
            head = struct.pack(">hhihi", Api.METADATA, 1, 1, -1, LIMITS.elements)
            return head + b"\0\0" * LIMITS.elements
        case _:
            return damaged(rng.choice(valid), rng)


# ---------------------------------------------------------------- idle connections


def idle() -> dict[str, Any]:
    """Opens 2,000 idle connections to a server. Returns the CPU share of the server with and
    without them, its memory, and the latencies of another client.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < IDLE + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(IDLE + 200, hard), hard))
    with served() as server:
        without = _percent(server)
        with contextlib.ExitStack() as open_ones:
            places = server.servers.split(",")
            for n in range(IDLE):
                open_ones.enter_context(healthy.connected(places[n % len(places)]))
            percent = _percent(server)
            meanwhile, _ = measured(server, lambda: time.sleep(IDLE_S))
            return {
                "connections": IDLE,
                "cpu_percent_without": without,
                "cpu_percent": percent,
                "memory_mib": server.peak_mib,
                "healthy_meanwhile_ms": meanwhile,
            }


def _percent(server: Server) -> float:
    began_s, cpu_s = time.perf_counter(), server.cpu_s
    time.sleep(IDLE_S)
    return round(100 * (server.cpu_s - cpu_s) / (time.perf_counter() - began_s), 2)
