"""Fixtures: a served cluster with a control port, and functions that send commands to the port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest

from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving


@dataclass(frozen=True)
class Control:
    """Sends HTTP requests to the control port of a cluster."""

    bootstrap_servers: str
    port: int
    processes: bool  # each broker has a process of its own

    def call(self, method: str, path: str, document: Any = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

    def get(self, path: str) -> Any:
        status, answer = self.call("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path: str, document: Any = None) -> Any:
        status, answer = self.call("POST", path, document)
        assert status in (200, 201), answer
        return answer

    def fault(self, **document: Any) -> Any:
        return self.post("/faults", document)

    def topic(self, name: str, partitions: int = 1) -> str:
        self.post("/topics", {"name": name, "partitions": partitions})
        return name

    def leader(self, topic: str) -> int:
        (found,) = (one for one in self.get("/topics")["topics"] if one["name"] == topic)
        leader: int = found["partitions"][0]["leader"]
        return leader

    def requests(self, query: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.get(f"/requests?{query}")["requests"]
        return listed


# For `pytestmark`: the tests of a module run with all brokers in one process, and with processes.
IN_ONE_AND_MANY_PROCESSES = pytest.mark.parametrize(
    "shared", [False, True], indirect=True, ids=["one-process", "processes"], scope="module"
)


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest) -> Iterator[Control]:
    processes: bool = getattr(request, "param", False)
    with serving(ServeOptions(control=0, processes=processes)) as cluster:
        assert cluster.control_port is not None
        yield Control(cluster.bootstrap_servers, cluster.control_port, processes)


@pytest.fixture
def control(shared: Control) -> Iterator[Control]:
    """Yields the control port of a cluster without faults."""
    yield shared
    shared.post("/reset")
