"""The control port of a cluster of processes crashes and pauses brokers by signals, and elects
leaders.
"""

from __future__ import annotations

import os

import pytest

from checkers.testing.broker import Broker, Refused
from tests.reference_impl.wire.waiting import until


def states(broker: Broker) -> list[str]:
    return [found["state"] for found in broker.call("GET", "/")["brokers"]]


def state_of_process(pid: int) -> str:
    """Returns the letter of the process's state in Linux: T is stopped by a signal."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as line:
        return line.read().rpartition(")")[2].split()[0]


def reads_in_c(pid: int) -> bool:
    """Returns True if the process has loaded a library of Urteil's cache of compiled code."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as lines:
        return "/compiled/" in lines.read()


def test_faults_happen_by_signals_and_a_reset_starts_all_brokers_again() -> None:
    with Broker(brokers=3, topics={"t": 1}, processes=True) as broker:
        before = broker.pids
        assert before.keys() == {1, 2, 3}
        until(lambda: all(map(reads_in_c, before.values())))
        first = broker.leader("t")
        broker.happen("elect", topic="t", partition=0)
        second = broker.leader("t")
        assert second != first

        broker.happen("crash", broker=first)
        assert states(broker).count("down") == 1
        assert first not in broker.pids
        with pytest.raises(Refused, match=f"broker {first} is down; start it first"):
            broker.happen("pause", broker=first)

        broker.happen("pause", broker=second)
        until(lambda: state_of_process(before[second]) == "T")
        assert states(broker)[second - 1] == "paused"
        until(lambda: broker.leader("t") == 6 - first - second)
        broker.happen("resume", broker=second)
        until(lambda: state_of_process(before[second]) != "T")

        broker.reset()
        assert states(broker) == ["running"] * 3
        after = broker.pids
        assert all(map(reads_in_c, after.values()))
        assert {one for one in after if after[one] != before[one]} == {first}
        assert broker.log == ""
        running = broker.pids.values()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
