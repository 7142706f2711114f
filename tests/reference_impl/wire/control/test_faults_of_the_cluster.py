"""Faults of the cluster: crashes, pauses, splits, elections, and jumps of the clock.

A fault happens at once when it is commanded, or later at a request that matches its condition.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.reference_impl.wire.control.conftest import IN_ONE_AND_MANY_PROCESSES, Control
from tests.reference_impl.wire.control.test_faults_of_requests import producer, read, sent

pytestmark = IN_ONE_AND_MANY_PROCESSES
WITHIN_S = 15.0
SESSION_MS = 4_000  # the session of a broker lasts 3 s


def partition(control: Control, topic: str) -> dict[str, Any]:
    """Returns the registration of the topic's partition 0."""
    (found,) = (one for one in control.get("/topics")["topics"] if one["name"] == topic)
    registration: dict[str, Any] = found["partitions"][0]
    return registration


def await_until(happened: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WITHIN_S
    while not happened():
        assert time.monotonic() < until_s, "it has not happened in time"
        time.sleep(0.02)


def states(control: Control) -> list[str]:
    return [broker["state"] for broker in control.get("/")["brokers"]]


def test_another_leader_is_elected_and_a_client_finds_it(control: Control) -> None:
    topic = control.topic("elected")
    client = producer(control)
    assert sent(client, topic, b"a") == [""]
    first = control.leader(topic)
    last = first % 3 + 1
    control.fault(do="elect", topic=topic, partition=0, broker=last)
    assert control.leader(topic) == last
    assert sent(client, topic, b"b") == [""]
    brokers = [
        (one["broker"], one["errors"]) for one in control.requests(f"api=Produce&topic={topic}")
    ]
    assert brokers[0] == (first, [])
    assert brokers[-1] == (last, [])
    assert read(control, topic) == [b"a", b"b"]
    control.fault(do="elect", topic=topic, partition=0)  # the next one in sync
    assert control.leader(topic) != last


def test_a_request_elects_another_leader_before_it_is_applied(control: Control) -> None:
    topic = control.topic("elected-late")
    rule = control.fault(
        do="elect", topic=topic, partition=0, when={"api": "Produce", "topic": topic, "nth": 1}
    )
    assert sent(producer(control), topic, b"a") == [""]
    assert control.get(f"/faults/{rule['id']}?acted=1&wait_ms=5000")["acted"] == 1
    assert partition(control, topic)["leader_epoch"] == 1
    assert read(control, topic) == [b"a"]


@pytest.mark.parametrize("applied", [False, True])
def test_the_broker_that_gets_the_request_crashes_and_starts_again(
    control: Control, applied: bool
) -> None:
    topic = control.topic(f"receiver-{applied}")
    leader = control.leader(topic)
    when = {"api": "Produce", "topic": topic, "applied": applied, "nth": 2}
    crash = control.fault(
        do="crash", when=when, then={"do": "start", "when": {"api": "Produce", "nth": 1}}
    )
    client = producer(control)
    assert sent(client, topic, b"a") == [""]
    client.produce(topic, b"b", partition=0)
    assert control.get(f"/faults/{crash['id']}?acted=1&wait_ms=5000")["acted"] == 1
    await_until(lambda: states(control)[leader - 1] == "down")
    control.fault(do="advance-clock", ms=SESSION_MS)
    assert sent(client, topic, b"c") == [""]
    await_until(lambda: states(control) == ["running"] * 3)
    assert read(control, topic) == [b"a", b"b", b"c"]


def test_a_crashed_broker_starts_again(control: Control) -> None:
    topic = control.topic("crashed")
    assert sent(producer(control), topic, b"a") == [""]
    leader = control.leader(topic)
    control.fault(do="crash", broker=leader)
    assert states(control)[leader - 1] == "down"
    status, answer = control.call("POST", "/faults", {"do": "crash", "broker": leader})
    assert (status, answer["at"]) == (400, "broker")
    assert answer["error"] == f"broker {leader} is down; start it first"
    control.fault(do="advance-clock", ms=SESSION_MS)
    assert control.leader(topic) != leader
    control.fault(do="start", broker=leader)
    assert states(control) == ["running"] * 3
    assert sent(producer(control), topic, b"b") == [""]
    assert read(control, topic) == [b"a", b"b"]


@pytest.mark.parametrize(("fault", "values"), [("crash", [b"a"]), ("lose-power", [])])
def test_only_a_power_loss_loses_records_that_were_not_flushed(
    control: Control, fault: str, values: list[bytes]
) -> None:
    if fault == "lose-power" and control.processes:
        status, answer = control.call("POST", "/faults", {"do": fault, "broker": 1})
        assert (status, answer["at"]) == (400, "do")
        assert answer["error"].endswith("has no power to lose; use crash")
        return
    topic = f"alone-{fault}"
    control.post("/topics", {"name": topic, "replicas": 1})
    assert sent(producer(control), topic, b"a") == [""]
    leader = control.leader(topic)
    control.fault(do=fault, broker=leader)
    control.fault(do="advance-clock", ms=SESSION_MS)
    control.fault(do="start", broker=leader)
    await_until(lambda: control.leader(topic) == leader)
    assert read(control, topic) == values


@pytest.mark.parametrize(
    ("name", "applied", "loses_response"),
    [("before", False, False), ("after", True, False), ("unanswered", True, True)],
)
def test_a_request_crashes_its_broker(
    control: Control, name: str, applied: bool, loses_response: bool
) -> None:
    topic = control.topic(f"crashes-{name}")
    leader = control.leader(topic)
    when = {"api": "Produce", "topic": topic, "times": 1, "applied": applied}
    control.fault(do="crash", broker=leader, when=when)
    if loses_response:
        control.fault(do="disconnect", when=when)
    client = producer(control, enable_idempotence=False, retries=0, message_timeout_ms=2_000)
    is_delivered = sent(client, topic, b"a") == [""]
    await_until(lambda: states(control)[leader - 1] == "down")
    control.fault(do="advance-clock", ms=SESSION_MS)
    assert is_delivered == (applied and not loses_response)
    assert read(control, topic) == ([b"a"] if applied else [])


def test_a_paused_broker_is_fenced_and_answers_when_it_resumes(control: Control) -> None:
    topic = control.topic("paused")
    client = producer(control, socket_timeout_ms=1_000)  # so long it waits for the paused broker
    assert sent(client, topic, b"a") == [""]
    leader = control.leader(topic)
    control.fault(do="pause", broker=leader)
    assert states(control)[leader - 1] == "paused"
    control.fault(do="advance-clock", ms=SESSION_MS)
    assert control.leader(topic) != leader
    assert sent(client, topic, b"b") == [""]
    control.fault(do="resume", broker=leader)
    await_until(lambda: len(partition(control, topic)["isr"]) == 3)
    assert read(control, topic) == [b"a", b"b"]


@pytest.mark.parametrize("healed", [True, False])
def test_brokers_that_are_split_off_leave_the_isr_until_the_split_heals(
    control: Control, healed: bool
) -> None:
    topic = control.topic(f"split-{healed}")
    leader = control.leader(topic)
    follower = leader % 3 + 1
    control.fault(do="split", brokers=[follower])
    if healed:
        control.fault(do="heal")
    control.fault(do="advance-clock", ms=6_000)
    assert (follower in partition(control, topic)["isr"]) == healed


def test_the_clock_of_the_cluster_goes_forward(control: Control) -> None:
    begun_s, before_ms = time.monotonic(), control.get("/")["now_ms"]
    control.fault(do="advance-clock", ms=20_000)
    ahead_ms = control.get("/")["now_ms"] - before_ms - 20_000
    assert 0 <= ahead_ms <= (time.monotonic() - begun_s) * 1000 + 1
    assert states(control) == ["running"] * 3
    topic = control.topic("after")
    assert sent(producer(control), topic, b"a") == [""]  # no broker was fenced meanwhile


def test_a_reset_ends_every_fault(control: Control) -> None:
    control.fault(do="drop", when={"api": "Fetch"})
    control.fault(do="crash", broker=1)
    control.fault(do="pause", broker=2)
    control.fault(do="split", brokers=[3])
    control.fault(do="advance-clock", ms=SESSION_MS)
    control.post("/reset")
    assert states(control) == ["running"] * 3
    assert control.get("/faults") == {"faults": []}
    assert control.get("/requests")["requests"] == []
    topic = control.topic("reset")
    assert sent(producer(control), topic, b"a") == [""]
    assert read(control, topic) == [b"a"]


def test_a_partition_moves_to_other_brokers_and_a_wrong_move_is_refused(control: Control) -> None:
    topic = control.topic("moved")
    client = producer(control)
    assert sent(client, topic, b"a") == [""]
    control.fault(do="reassign", topic=topic, partition=0, replicas=[3, 2])
    await_until(lambda: partition(control, topic)["replicas"] == [3, 2])
    await_until(lambda: control.leader(topic) in {2, 3})
    assert sent(client, topic, b"b") == [""]
    assert read(control, topic) == [b"a", b"b"]
    for wrong, at, why in (
        ({}, "replicas", "No partition reassignment is in progress."),
        ({"replicas": [1, 1]}, "replicas", "includes the broker 1 more than once."),
        ({"partition": 7}, "partition", f"Unable to find partition {topic}:7."),
    ):
        fault = {"do": "reassign", "topic": topic, "partition": 0, **wrong}
        status, answer = control.call("POST", "/faults", fault)
        assert (status, answer["at"]) == (400, at)
        assert why in answer["error"]
