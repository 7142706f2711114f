"""Faults of the served broker: how they are written, which are invalid, and when they occur."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import BrokerId
from reference_impl.wire.faults import BadFault, DropResponse, FaultPlan, KillBroker, parsed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("drop-response:every=7", DropResponse(every=7)),
        ("drop-response:probability=0.25", DropResponse(probability=0.25)),
        ("kill-broker:id=2,after=9", KillBroker(broker_id=BrokerId(2), after=9)),
        (
            "kill-broker:id=2,after=9,restart=30",
            KillBroker(broker_id=BrokerId(2), after=9, restart=30),
        ),
    ],
)
def test_a_fault_is_parsed_from_one_word(text: str, fault: DropResponse | KillBroker) -> None:
    assert parsed(text) == fault


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("drop-everything", "'drop-everything' is no fault; known are drop-response, kill-broker"),
        ("drop-response", "needs every=N or probability=P"),
        ("drop-response:every=2,probability=0.5", "needs every=N or probability=P"),
        ("drop-response:every=1", "every=1 leaves no response"),
        ("drop-response:every=x", "every=x is no number"),
        ("drop-response:often=2", "'often' is not one of every, probability"),
        ("drop-response:probability=1", r"must be in \[0, 1\)"),
        ("kill-broker:id=1", "id and after are missing"),
        ("kill-broker:id=1,after=0", "must be at least 1 request"),
    ],
)
def test_an_invalid_fault_is_rejected_with_a_reason(text: str, complaint: str) -> None:
    with pytest.raises(BadFault, match=complaint):
        parsed(text)


@settings(deadline=None)
@given(st.integers(2, 9), st.integers(0, 60))
def test_every_nth_applied_request_loses_its_answer(every: int, requests: int) -> None:
    plan = FaultPlan((DropResponse(every=every),))
    answered = [plan.answers_applied() for _ in range(requests)]

    assert [n for n, kept in enumerate(answered, 1) if not kept] == [
        n for n in range(1, requests + 1) if n % every == 0
    ]


@settings(deadline=None)
@given(st.floats(0.1, 0.9), st.integers(0, 5))
def test_random_drops_depend_only_on_the_seed(probability: float, seed: int) -> None:
    def answered(seed: int) -> list[bool]:
        plan = FaultPlan((DropResponse(probability=probability),), seed)
        return [plan.answers_applied() for _ in range(400)]

    assert answered(seed) == answered(seed)
    assert answered(seed) != answered(seed + 1)
    assert abs(answered(seed).count(False) / 400 - probability) < 0.15


def test_a_broker_is_killed_once_and_restarts_once() -> None:
    fault = KillBroker(broker_id=BrokerId(2), after=3, restart=2)
    plan = FaultPlan((fault,))
    happened = []
    for number in range(1, 9):
        plan.answers_applied()
        happened += [(number, what) for what in plan.after_request()]

    assert happened == [(3, ("kill", 2)), (5, ("restart", 2))]
