"""Starts the reference broker for a test, injects faults into it, and stops it.

    with Broker(topics={"orders": 3}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        lost = broker.fault("disconnect", when={"api": "Produce", "applied": True, "nth": 1})
        ...
        lost.await_acted()
        (first, again) = broker.requests(api="Produce", topic="orders")

The broker runs in its own process. The process ends when the `with` block ends, or when the test's
process ends, even if the test is killed. docs/how-to/faults-in-your-tests.md describes the faults.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self
from urllib.parse import urlencode, urlsplit

STARTS_WITHIN_S: Final = 30.0
STOPS_WITHIN_S: Final = 10.0
WAITS_S: Final = 10.0  # for a fault to act
# The packages next to this file, even if PYTHONPATH has others of the same names.
ROOT: Final = str(Path(__file__).parents[2])
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import checkers, model, properties, reference_impl; sys.path.pop(0); "
    "from checkers.testing.process import main; main()"
)


class NotStarted(RuntimeError):
    """Raised if the broker's process does not become ready. The message has the text that the
    process wrote to its standard error.
    """


class Refused(ValueError):
    """Raised if the broker's control port (an HTTP server that accepts faults) rejects a request.

    `at` names the wrong part of the request, such as a field of its JSON object.
    """

    def __init__(self, status: int, at: str, error: str) -> None:
        super().__init__(f"{at}: {error}")
        self.status = status
        self.at = at


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault that acts on requests to the broker until the method `end` is called."""

    id: int
    _broker: Broker

    @property
    def acted(self) -> int:
        """The number of requests on which the fault has acted so far."""
        return int(self._broker.call("GET", f"/faults/{self.id}")["acted"])

    def await_acted(self, times: int = 1, within_s: float = WAITS_S) -> None:
        """Waits until the fault has acted on `times` requests. Raises TimeoutError after `within_s`
        seconds.
        """
        query = urlencode({"acted": times, "wait_ms": int(within_s * 1000)})
        found = self._broker.call("GET", f"/faults/{self.id}?{query}")
        if found["acted"] < times:
            raise TimeoutError(f"after {within_s} s the fault has acted {found['acted']} times")

    def end(self) -> None:
        """Ends the fault. If the fault kept a connection open without a response, the connection is
        closed.
        """
        self._broker.call("DELETE", f"/faults/{self.id}")


@dataclass(slots=True, kw_only=True)
class Broker:
    """A cluster of reference brokers, in one process of its own. The brokers have the ids 1, 2, 3
    and so on.

    `topics` maps the names of the topics to their numbers of partitions. `faults` are faults in the
    JSON format of the control port, an HTTP server that accepts faults. `users` maps the names of
    users to their passwords. If `processes` is True, each broker runs in its own process.
    `tls_cert`, `tls_key` and `tls_client_ca` are files for the options of the same names of
    `urteil broker`. `options` lists further command-line options of `urteil broker`.
    """

    brokers: int = 3
    topics: Mapping[str, int] = field(default_factory=dict[str, int])
    faults: Sequence[Mapping[str, Any]] = ()
    processes: bool = False
    security_protocol: str = "PLAINTEXT"
    users: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    tls_cert: str | os.PathLike[str] | None = None
    tls_key: str | os.PathLike[str] | None = None
    tls_client_ca: str | os.PathLike[str] | None = None
    options: Sequence[str] = ()
    bootstrap_servers: str = field(default="", init=False)
    control_url: str = field(default="", init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _log: IO[bytes] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the process, waits until every broker is ready, and creates the topics and faults.
        Raises NotStarted if the process does not become ready.
        """
        words = ["broker", "--json", "--control", "0", "--brokers", str(self.brokers)]
        words += [*self._security(), *(["--processes"] if self.processes else [])]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, ROOT, *words, *self.options],
            stdin=subprocess.PIPE,  # when it closes, the process ends
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C ends the test, and the test ends the broker
        )
        atexit.register(self.stop)
        try:
            ready = self._ready(self._process)
            self.bootstrap_servers, self.control_url = ready["bootstrap_servers"], ready["control"]
            for name, partitions in self.topics.items():
                self.create_topic(name, partitions)
            for fault in self.faults:
                self.call("POST", "/faults", dict(fault))
        except BaseException:
            self.stop()
            raise

    def _security(self) -> list[str]:
        values = {
            "--security-protocol": self.security_protocol,
            "--tls-cert": self.tls_cert,
            "--tls-key": self.tls_key,
            "--tls-client-ca": self.tls_client_ca,
        }
        files = [f"{name}={os.fspath(value)}" for name, value in values.items() if value]
        return [*files, *(f"--user={name}={word}" for name, word in self.users.items())]

    def _ready(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None, "the process has a pipe"
        readable, _, _ = select.select([process.stdout], [], [], STARTS_WITHIN_S)
        line = process.stdout.readline() if readable else b""
        event = json.loads(line) if line.startswith(b"{") else {}
        if event.get("event") != "ready":
            raise NotStarted(f"urteil broker is not ready: {self.log.strip() or 'no output'}")
        found: dict[str, Any] = event
        return found

    @property
    def log(self) -> str:
        """The text that the process has written to its standard error."""
        if self._log is None:
            return ""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    @property
    def pid(self) -> int | None:
        """The id of the broker's process, or None if the process does not run."""
        return None if self._process is None else self._process.pid

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each broker. The mapping is empty if the brokers share a process."""
        brokers = self.call("GET", "/")["brokers"]
        return {one["id"]: one["pid"] for one in brokers if "pid" in one}

    @property
    def controller_pid(self) -> int | None:
        """The id of the controller's process, or None if the controller has no process
        of its own.
        """
        found: int | None = self.call("GET", "/")["controller"].get("pid")
        return found

    def stop(self) -> None:
        """Stops the broker's process. Does nothing if the process does not run."""
        process, self._process = self._process, None
        atexit.unregister(self.stop)
        if process is not None:
            process.terminate()
            try:
                process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    # ------------------------------------------------------------ the control port

    def call(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Any:
        """Sends a request to the control port, and returns the answer, decoded from JSON. Raises
        Refused if the control port rejects the request.
        """
        host = urlsplit(self.control_url)
        connection = HTTPConnection(host.hostname or "", host.port, timeout=120)
        try:
            connection.request(method, path, None if document is None else json.dumps(document))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status >= 400:
            raise Refused(response.status, answer["at"], answer["error"])
        return answer

    def fault(self, do: str, *, when: Mapping[str, Any], **fields: Any) -> InjectedFault:
        """Injects a fault, which acts on each request that matches `when`. An empty `when` matches
        every request.

        `do` is the effect of the fault, such as a closed connection, and `fields` are the
        parameters of the effect.
        """
        answer = self.call("POST", "/faults", {"do": do, "when": when, **fields})
        return InjectedFault(answer["id"], self)

    @contextmanager
    def during(
        self, do: str, *, when: Mapping[str, Any], **fields: Any
    ) -> Generator[InjectedFault]:
        """Injects a fault that acts on each request that matches `when`. The fault ends when the
        `with` block ends. The parameters have the same meaning as in `fault`.
        """
        injected = self.fault(do, when=when, **fields)
        try:
            yield injected
        finally:
            injected.end()

    def happen(self, do: str, **fields: Any) -> None:
        """Injects a fault of the whole cluster, such as `crash` or `elect`. The fault happens
        immediately and one time.
        """
        self.call("POST", "/faults", {"do": do, **fields})

    def clear_faults(self) -> None:
        self.call("DELETE", "/faults")

    def requests(
        self, *, count: int = 0, within_s: float = WAITS_S, since: int = 0, **selection: Any
    ) -> list[dict[str, Any]]:
        """Returns the requests that the brokers have received. The oldest request is the first.

        `api`, `topic`, `partition`, `client_id` and `broker` select requests by these properties.
        `since` selects the requests whose field `number` is larger. If `count` is not 0, waits
        until at least `count` selected requests have arrived. Raises TimeoutError if they do not
        arrive within `within_s` seconds.
        """
        query = {**selection, "since": since, "count": count, "wait_ms": int(within_s * 1000)}
        found: list[dict[str, Any]] = self.call("GET", f"/requests?{urlencode(query)}")["requests"]
        if len(found) < count:
            raise TimeoutError(f"after {within_s} s there are {len(found)} of {count} requests")
        return found

    def clear_requests(self) -> None:
        self.call("DELETE", "/requests")

    def create_topic(self, name: str, partitions: int = 1, replicas: int | None = None) -> None:
        counts = {"partitions": partitions, "replicas": replicas or min(3, self.brokers)}
        self.call("POST", "/topics", {"name": name, **counts})

    def partitions(self, topic: str) -> list[dict[str, Any]]:
        """Returns the leader, the leader epoch, the replicas and the ISR of each partition of the
        topic. Raises LookupError if there is no such topic.
        """
        for found in self.call("GET", "/topics")["topics"]:
            if found["name"] == topic:
                partitions: list[dict[str, Any]] = found["partitions"]
                return partitions
        raise LookupError(f"there is no topic {topic!r}: create it with create_topic")

    def leader(self, topic: str, partition: int = 0) -> int:
        """Returns the id of the partition's leader, or -1 if the partition has no leader."""
        return int(self.partitions(topic)[partition]["leader"])

    def reset(self) -> None:
        """Ends all faults, starts every broker that is down, resumes every broker that is paused,
        and clears the log of requests.
        """
        self.call("POST", "/reset")
