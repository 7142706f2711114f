"""The server answers only requests of its own page; an error is a response, never a traceback."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from checkers.explore.requests import Explorer
from checkers.explore.server import PAGES, Server
from model.faults import InputFault
from tests.checkers.explore.conftest import BUG

JSON = "application/json"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Explorer(opened={**BUG, "path": ""})) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def sent(
    server: Server, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    text = body if isinstance(body, str) else json.dumps(body)
    kind = {"Content-Type": JSON} if method == "POST" else {}
    connection.request(
        method, path, text, {**kind, **{k.replace("_", "-"): v for k, v in headers.items()}}
    )
    response = connection.getresponse()
    read = response.status, dict(response.getheaders()), response.read().decode()
    connection.close()
    return read


def test_the_page_is_served_and_names_no_other_host(server: Server) -> None:
    status, headers, page = sent(server, "GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for name in PAGES:
        status, _, text = sent(server, "GET", f"/{name}")
        assert status == 200
        assert "http://" not in text
        assert "https://" not in text
    assert page == files("checkers.explore").joinpath("page", "index.html").read_text()


def test_every_file_of_the_page_is_served() -> None:
    kept = {one.name for one in files("checkers.explore").joinpath("page").iterdir()}
    assert kept == set(PAGES)


def test_the_link_opens_the_state_of_the_command_line(server: Server) -> None:
    link = server.link({**BUG, "path": "leader_write(b0); become_leader(b0, leader_epoch 0)"})
    assert link == (
        f"http://127.0.0.1:{server.server_port}/#spec=replication&variant=truncate-to-hw"
        "&set=replicas=2,max_leader_epoch=2"
        "&path=leader_write(b0)%3B%20become_leader(b0,%20leader_epoch%200)"
    )


def test_the_api_answers_with_json(server: Server) -> None:
    status, headers, text = sent(server, "POST", "/api/walk", {**BUG, "path": ""})
    assert (status, headers["Content-Type"]) == (200, JSON)
    assert json.loads(text)["enabled"][0]["call"] == "controller_elect_leader(b0)"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "[::1]:1", ""])
def test_a_request_for_another_host_name_is_refused(server: Server, host: str) -> None:
    for method, path in (("GET", "/"), ("POST", "/api/walk")):
        status, _, text = sent(server, method, path, {}, Host=host)
        assert (status, "answers only its own page" in text) == (403, True)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1"])
def test_a_page_of_another_site_is_refused(server: Server, origin: str) -> None:
    assert sent(server, "POST", "/api/walk", {}, Origin=origin)[0] == 403


def test_its_own_page_is_not_refused(server: Server) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.server_port}"
        assert sent(server, "POST", "/api/opened", {}, Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/api/wlk", {}, "no request 'wlk'; the nearest: walk"),
        ("/api/walk", "{", "the request is not JSON"),
        ("/api/walk", [], "the request is not a JSON object"),
        ("/api/walk", "[" * 100_000, "the request is not JSON"),
        ("/api/walk", {"spec": 3}, "spec: 3 is not a text"),
        ("/api/walk", {"spec": "replicat"}, "no spec 'replicat'; the nearest: replication"),
        ("/api/walk", {"spec": "/etc/mine.py"}, "only the file that the command line names"),
        ("/api/walk", {"variant": "kip"}, "replication has no variant 'kip'"),
        ("/api/walk", {"constants": {"replica": 2}}, "replica"),
        ("/api/walk", {"constants": {"replicas": "2"}}, "write an object of integers"),
        ("/api/walk", {"constants": {"replicas": 2_000}}, "replicas"),
        ("/api/walk", {"scope": "Ofset=9"}, "no sort in the scope 'Ofset'; the nearest: Offset"),
        ("/api/walk", {"scope": "Offset=0"}, "scope Offset=0: write SORT=ELEMENTS"),
        ("/api/walk", {"scope": f"Offset={2**62}"}, "with a number from 1 to 100,000"),
        ("/api/search", {"scope": "Offset=40"}, "a recorded trace is not searched"),
        ("/api/walk", {"path": "leader_write(b0)"}, "step 1, leader_write(b0), is not possible"),
        ("/api/walk", {"path": ";".join("a" * 30_000)}, "more than 20,000 steps"),
        ("/api/search", {"formula": "nexid > 1"}, "no name 'nexid'"),
        ("/api/trace", {"file": "../x"}, "no trace '../x'"),
    ],
)
def test_a_mistake_is_answered_with_an_error(
    server: Server, path: str, body: Any, message: str
) -> None:
    status, _, text = sent(server, "POST", path, body)
    assert (status, message in json.loads(text)["error"]) == (400, True), text
    assert "Traceback" not in text


def test_the_error_for_a_formula_names_the_position_of_the_mistake(server: Server) -> None:
    walk = json.loads(sent(server, "POST", "/api/walk", {"path": "leader_write(b0)"})[2])
    assert walk["step"] == 1
    search = json.loads(sent(server, "POST", "/api/search", {"formula": "true & nexid"})[2])
    assert (search["start"], search["end"]) == (7, 12)


def test_other_kinds_of_requests_are_refused(server: Server) -> None:
    form = sent(server, "POST", "/api/walk", "{}", Content_Type="text/plain")
    assert (form[0], "application/json" in form[2]) == (400, True)
    large = sent(server, "POST", "/api/walk", "", Content_Length="2000000")
    assert (large[0], "at most 1,048,576 bytes" in large[2]) == (400, True)
    assert sent(server, "GET", "/../server.py")[0] == 404
    assert sent(server, "PUT", "/")[0] == 501


def test_a_port_in_use_is_a_command_line_error(server: Server) -> None:
    with pytest.raises(InputFault, match=f"--port {server.server_port}: .*use another port"):
        Server(server.explorer, server.server_port)
