"""A schedule of faults ends with all brokers running, for every seed and number of brokers."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from checkers.systems.rounds import KINDS, NEEDS, Round, rounds
from checkers.systems.system import Ability

UNDOES = {
    Ability.KILL: Ability.START,
    Ability.LOSE_POWER: Ability.START,
    Ability.STOP: Ability.START,
    Ability.PAUSE: Ability.RESUME,
}
REQUESTS = {Ability.REASSIGN, Ability.ELECT}  # no broker is down after them
SESSION_S = 4.0


def drawn(seed: int, kind: str, brokers: int) -> list[Round]:
    return list(islice(rounds(seed, [kind], range(1, brokers + 1), SESSION_S), 3))


@given(st.integers(), st.sampled_from(sorted(KINDS)), st.integers(2, 5))
def test_a_round_begins_and_ends_with_every_broker_running(
    seed: int, kind: str, brokers: int
) -> None:
    for steps in drawn(seed, kind, brokers):
        down: dict[int, Ability] = {}
        for step in steps:
            assert step.do in NEEDS[kind]
            assert step.after_s >= 0
            if step.do in UNDOES:
                assert step.node not in down
                down[step.node] = step.do
            elif step.do not in REQUESTS:
                assert UNDOES[down.pop(step.node)] is step.do
        assert down == {}


@given(st.integers(), st.integers(2, 5))
def test_the_last_running_broker_is_alone_before_it_is_killed(seed: int, brokers: int) -> None:
    for steps in drawn(seed, "last-standing", brokers):
        paused = [step.node for step in steps[: brokers - 1] if step.do is Ability.PAUSE]
        kill = steps[brokers - 1]

        assert kill.do is Ability.KILL
        assert {*paused, kill.node} == set(range(1, brokers + 1))
        assert kill.after_s > SESSION_S


@given(st.integers(), st.integers(2, 5))
def test_in_a_blackout_all_brokers_are_down_at_once(seed: int, brokers: int) -> None:
    for steps in drawn(seed, "blackout", brokers):
        lost, started = steps[:brokers], steps[brokers:]
        assert {step.do for step in lost} == {Ability.LOSE_POWER}
        assert {step.node for step in lost} == {step.node for step in started}
        assert sum(step.after_s for step in lost[1:]) == 0


def test_the_same_seed_gives_the_same_rounds() -> None:
    kinds = list(KINDS)
    first, again, other = (
        list(islice(rounds(seed, kinds, (1, 2, 3), SESSION_S), 9)) for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other
