"""The broker that tests of other projects start: its process, its faults and its request log."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from checkers.testing.broker import Broker, NotStarted, Refused


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 2}) as started:
        yield started


def producer(broker: Broker, **settings: Any) -> Producer:
    fixed = {"bootstrap.servers": broker.bootstrap_servers, "log_level": 0, "linger.ms": 0}
    return Producer({**fixed, "enable.idempotence": True, **settings})


def test_a_fault_acts_on_real_clients_and_the_log_shows_it(broker: Broker) -> None:
    client = producer(broker, **{"client.id": "billing"})
    with broker.during("error", error="NOT_ENOUGH_REPLICAS", when={"api": "Produce"}) as fault:
        client.produce("orders", b"a", partition=1)
        client.poll(0)
        fault.await_acted(2)
        assert fault.acted >= 2
    assert client.flush(10) == 0
    *refused, last = broker.requests(api="Produce", topic="orders", partition=1, count=3)
    assert {(*one["errors"],) for one in refused} == {("NOT_ENOUGH_REPLICAS",)}
    assert (last["errors"], last["client_id"], last["faults"]) == ([], "billing", [])


def test_a_fault_of_the_cluster_happens_at_once(broker: Broker) -> None:
    before = broker.leader("orders", 1)
    broker.happen("elect", topic="orders", partition=1)
    assert broker.leader("orders", 1) != before
    broker.happen("crash", broker=before)
    broker.happen("advance-clock", ms=4_000)
    assert before not in broker.partitions("orders")[1]["isr"]
    broker.reset()
    assert broker.requests() == []


def test_a_mistake_is_refused_with_its_place(broker: Broker) -> None:
    with pytest.raises(Refused, match=r"when\.api: no API") as refused:
        broker.fault("drop", when={"api": "Prduce"})
    assert (refused.value.status, refused.value.at) == (400, "when.api")
    with pytest.raises(LookupError, match="there is no topic 'absent'"):
        broker.leader("absent")
    fault = broker.fault("drop", when={"topic": "absent"})
    with pytest.raises(TimeoutError, match="has acted 0 times"):
        fault.await_acted(within_s=0.05)
    with pytest.raises(TimeoutError, match="there are 0 of 1 requests"):
        broker.requests(client_id="nobody", count=1, within_s=0.05)
    fault.end()
    with pytest.raises(Refused, match=f"no fault {fault.id} is in force"):
        fault.end()


def test_the_process_ends_with_the_block() -> None:
    with Broker(brokers=1) as started:
        pid = started.pid
        assert pid is not None
        os.kill(pid, 0)
    assert started.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    started.stop()


def test_the_process_ends_with_a_killed_test() -> None:
    program = (
        "import time\nfrom checkers.testing.broker import Broker\n"
        "with Broker(brokers=1) as broker:\n    print(broker.pid, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as test:
        assert test.stdout is not None
        pid = int(test.stdout.readline())
        test.kill()
    until_s = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < until_s, "the broker outlives the test that started it"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Returns True if the process runs; a zombie process counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_process_that_does_not_start_raises_the_reason() -> None:
    with pytest.raises(NotStarted, match="0 brokers: the number must be 1 to 16"):
        Broker(brokers=0).start()


def test_the_plugin_imports_nothing_until_a_test_uses_it() -> None:
    program = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport checkers.testing.plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["checkers", "checkers.testing", "checkers.testing.plugin"]
