"""Starts two other implementations of Kafka's protocol, which were made for tests of clients. Both
store all data in memory.

Each line below has the name of an implementation and its origin:

    kfake               of franz-go, in Go: built once with `go`, from pinned sources
    librdkafka-mock     the mock cluster inside librdkafka, which comes with confluent-kafka

Source: github.com/twmb/franz-go, pkg/kfake; librdkafka, INTRODUCTION.md and rdkafka_mock.h.
"""

from __future__ import annotations

import shutil
import subprocess
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from checkers.cache import cache
from checkers.scratch import scratch
from checkers.systems.remote import Remote
from checkers.systems.system import Layout, SystemFailed
from model.faults import InputFault

KFAKE: Final = "kfake"
MOCK: Final = "librdkafka-mock"
STARTS_WITHIN_S: Final = 30.0
_SOURCES: Final = Path(__file__).with_name("kfake")
_FILES: Final = ("main.go", "go.mod", "go.sum")


@contextmanager
def kfake(layout: Layout) -> Generator[Remote]:
    """Serves kfake in a child process. The child ends when the `with` block ends, or when the
    Python process ends. Raises InputFault if kfake cannot be built, and SystemFailed if it does not
    start.
    """
    settings = (f"{name}={value}" for name, value in layout.settings.items())
    call = [str(_built()), str(layout.brokers), *settings]
    with subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        servers = process.stdout.readline().strip()
        if not servers:
            raise SystemFailed(
                f"{KFAKE} ended with code {process.wait()} before it listened; see its output above"
            )
        try:
            yield Remote(servers, KFAKE)
        finally:
            process.stdin.close()  # kfake ends with its input


@contextmanager
def librdkafka_mock(layout: Layout) -> Generator[Remote]:
    client = Producer({"test.mock.num.brokers": layout.brokers, "log_level": 0})
    brokers = client.list_topics(timeout=STARTS_WITHIN_S).brokers.values()
    yield Remote(",".join(f"{broker.host}:{broker.port}" for broker in brokers), MOCK)
    del client


PEERS: Final[Mapping[str, Callable[[Layout], AbstractContextManager[Remote]]]] = {
    KFAKE: kfake,
    MOCK: librdkafka_mock,
}


def _built() -> Path:
    program = cache("peers") / f"kfake-{_version()}"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise InputFault(
            f"{KFAKE} is built with Go, and there is no `go`: install Go 1.26 or later"
        )
    program.parent.mkdir(parents=True, exist_ok=True)
    with scratch(program.parent) as folder:
        for file in _FILES:
            shutil.copy(_SOURCES / file, folder)
        call = [go, "build", "-o", "kfake", "."]
        ended = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise InputFault(
                f"{KFAKE} cannot be built ({ended.stderr.strip()}); check Go and its module proxy"
            )
        (folder / "kfake").rename(program)
    return program


def _version() -> str:
    lines = (_SOURCES / "go.mod").read_text(encoding="utf-8").splitlines()
    version = next(line.split()[-1] for line in lines if "pkg/kfake " in line)
    return f"{version}-{zlib.crc32((_SOURCES / 'main.go').read_bytes()):08x}"
