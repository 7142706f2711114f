"""Every schedule of injected faults ends with all brokers running, whatever its seed."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.apache_kafka.cluster import BROKERS
from benchmarks.apache_kafka.faults import rounds

UNDOES = {"kill": "start", "pause": "resume"}


@given(st.integers())
def test_a_round_begins_and_ends_with_every_broker_well(seed: int) -> None:
    for steps in islice(rounds(seed), 6):
        ill: dict[int, str] = {}
        for step in steps:
            if step.do in UNDOES:
                assert step.node not in ill
                ill[step.node] = step.do
            else:
                assert UNDOES[ill.pop(step.node)] == step.do
            assert step.after_s > 0
        assert ill == {}


@given(st.integers())
def test_the_last_standing_is_alone_before_it_is_killed(seed: int) -> None:
    *_, steps = islice(rounds(seed), 3)
    asleep = [step.node for step in steps[:2] if step.do == "pause"]
    kill = steps[2]

    assert kill.do == "kill"
    assert {*asleep, kill.node} == set(BROKERS)
    assert kill.after_s > 3  # longer than a session and the replica lag time, 1.5 s each


def test_a_seed_says_it_all() -> None:
    assert list(islice(rounds(7), 9)) == list(islice(rounds(7), 9))
    assert list(islice(rounds(7), 9)) != list(islice(rounds(8), 9))
