"""The control port answers HTTP requests; the response to a wrong one names the mistake."""

from __future__ import annotations

import socket
from http.client import HTTPConnection
from typing import Any

import pytest

from reference_impl.wire.control.port import CannotControl
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.control.conftest import Control


def test_a_fault_is_added_shown_and_ended(control: Control) -> None:
    rule = {"do": "delay", "ms": 5, "when": {"api": "Fetch", "topic": "none"}}
    status, added = control.call("POST", "/faults", rule)
    assert (status, added) == (201, {**rule, "id": added["id"], "seen": 0, "acted": 0})
    assert control.get("/faults") == {"faults": [added]}
    assert control.get(f"/faults/{added['id']}") == added
    assert control.call("DELETE", f"/faults/{added['id']}") == (200, added)
    status, answer = control.call("GET", f"/faults/{added['id']}")
    assert (status, answer["at"]) == (404, "path")
    assert "those in force: there are none" in answer["error"]


def test_a_topic_is_created_and_its_leaders_are_shown(control: Control) -> None:
    status, made = control.call("POST", "/topics", {"name": "made", "partitions": 2, "replicas": 2})
    assert status == 201
    assert [len(one["replicas"]) for one in made["partitions"]] == [2, 2]
    assert made in control.get("/topics")["topics"]


@pytest.mark.parametrize(
    ("method", "path", "document", "status", "at", "error"),
    [
        ("GET", "/fault", None, 404, "path", "known are /, /faults, /requests, /reset, /topics"),
        ("PUT", "/faults", None, 405, "method", "it has DELETE, GET, POST"),
        ("GET", "/faults/one", None, 400, "path", "write the number of a fault"),
        ("POST", "/faults", None, 400, "body", "write a JSON object"),
        ("POST", "/faults", {"do": "crash", "broker": 9}, 400, "broker", "9 must be 1 to 3"),
        ("POST", "/faults", {"do": "drop", "when": {"broker": 0}}, 400, "when.broker", "1 to 3"),
        ("POST", "/faults", {"do": "start", "broker": 1}, 400, "broker", "up; crash it first"),
        (
            "POST",
            "/faults",
            {"do": "elect", "topic": "absent", "partition": 0},
            400,
            "partition",
            "there is no absent-0",
        ),
        ("GET", "/requests?apis=Fetch", None, 400, "query.apis", "the fields are api, topic"),
        ("GET", "/requests?api=Fitch", None, 400, "query.api", "the nearest: Fetch"),
        ("GET", "/requests?wait_ms=x", None, 400, "query.wait_ms", "a whole number up to 60000"),
        ("GET", "/requests?wait_ms=99999", None, 400, "query.wait_ms", "up to 60000"),
        ("POST", "/topics", {}, 400, "body", 'write {"name": "orders"'),
        ("POST", "/topics", {"name": "a", "partition": 1}, 400, "partition", "no such field"),
        ("POST", "/topics", {"name": "a", "replicas": 0}, 400, "replicas", "from 1 on"),
        ("POST", "/topics", {"name": "a b"}, 400, "body", "INVALID_TOPIC_EXCEPTION"),
    ],
)  # fmt: skip
def test_a_mistake_is_answered_with_its_place_and_the_next_step(
    control: Control, method: str, path: str, document: Any, status: int, at: str, error: str
) -> None:
    found, answer = control.call(method, path, document)
    assert (found, answer["at"]) == (status, at)
    assert error in answer["error"]


def test_a_body_that_is_no_json_or_too_long_is_rejected(control: Control) -> None:
    connection = HTTPConnection("127.0.0.1", control.port, timeout=10)
    connection.request("POST", "/faults", "{")
    response = connection.getresponse()
    assert response.status == 400
    assert b"no JSON" in response.read()
    connection.request("POST", "/faults", headers={"Content-Length": str(1 << 30)})
    assert connection.getresponse().status == 413
    connection.close()


def test_a_connection_serves_many_requests_and_a_broken_one_harms_no_other(
    control: Control,
) -> None:
    with socket.create_connection(("127.0.0.1", control.port)) as broken:
        broken.sendall(b"\x00\x03\x00\x0c not http")
    connection = HTTPConnection("127.0.0.1", control.port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b'{"bootstrap_servers"')
    connection.close()


def test_the_control_port_must_be_free_and_in_range() -> None:
    with pytest.raises(CannotServe, match="control port 70000: the last port is 65535"):
        ServeOptions(control=70_000)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(CannotControl, match=f"{port}: .*; port 0 selects a free port"),
            serving(ServeOptions(brokers=1, control=port)),
        ):
            pass
