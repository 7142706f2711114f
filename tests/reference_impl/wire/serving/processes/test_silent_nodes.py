"""If a signal stops the process of a node, the process that controls the cluster goes on without
the node's answers.
"""

from __future__ import annotations

import json
import os
import signal
from http.client import HTTPConnection
from typing import Any

import pytest

from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.processes import cluster
from reference_impl.wire.serving.serving import Served, serving


def call(served: Served, method: str, path: str, document: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", served.control_port, timeout=60)
    connection.request(method, path, json.dumps(document))
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def test_the_clock_goes_forward_without_a_stopped_controller_which_elects_no_leader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(ServeOptions(brokers=1, processes=True, control=0)) as served:
        before = call(served, "GET", "/")[1]["now_ms"]
        pid = served.controller_pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with monkeypatch.context() as impatient:
            impatient.setattr(cluster, "ANSWERS_WITHIN_S", 0.5)
            advance = {"do": "advance-clock", "ms": 60_000}
            assert call(served, "POST", "/faults", advance) == (200, advance)
            after = call(served, "GET", "/")[1]["now_ms"]
            assert 60_000 <= after - before < 240_000, "it waits once, not in each of 600 steps"
            elect = {"do": "elect", "topic": "t", "partition": 0}
            why = "the controller does not answer; is it paused?"
            assert call(served, "POST", "/faults", elect) == (400, {"at": "do", "error": why})
            assert call(served, "POST", "/faults", {"do": "split", "brokers": [1]})[0] == 200
        assert call(served, "POST", "/reset")[0] == 200
        assert call(served, "POST", "/topics", {"name": "t", "replicas": 1})[0] == 201
