"""A campaign sends the same requests to two systems.

In these tests, both systems are test doubles that return answers from a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from checkers.conform import campaign
from checkers.conform.campaign import Compared, Pair, compare, run, trail
from checkers.conform.reason import Reason, Verdict
from checkers.conform.steps import Begin, Collect, Pause, Send, Step, Steps
from checkers.conform.trial import Found, answers_of_system
from reference_impl.wire.messages.apis import Api

PRODUCE = Send(api=Api.PRODUCE, version=9, body={"acks": -1}, to="any", note="append")
FETCH = Send(api=Api.FETCH, version=12, body={}, to="any", note="read")
JOIN = Send(api=Api.JOIN_GROUP, version=5, body={}, to="any", note="join")
OK = {"error_code": "NONE"}
LATE = {"error_code": "NONE", "offset": 1}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "REPEATED_AFTER_S", 0)


@dataclass
class Answers:
    answers: list[Any]
    sent: list[str] = field(default_factory=list)
    is_running: bool = True
    lacks: frozenset[Api] = frozenset()

    def has(self, send: Send) -> bool:
        return send.api not in self.lacks

    def send(self, index: int, step: Send) -> Any:
        self.sent.append(step.note)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def begin(self, index: int, step: Begin) -> None:
        self.sent.append(f"begin {step.label}")

    def collect(self, index: int, step: Collect, until: float) -> Any:
        return self.send(index, PRODUCE)

    def keep(self, step: Send) -> None:
        self.sent.append(f"keep {step.note}")

    def close(self) -> None:
        self.sent.append("closed")


def of(*steps: Step) -> Steps:
    return Steps(family="appends", seed=1, topics=(), steps=steps)


def pairs(
    system: list[Any], reference: list[Any], *steps: Step, rows: tuple[Reason, ...] = ()
) -> list[Pair]:
    return list(compare(of(*steps), Answers(system), Answers(reference), rows))


def row(**options: Any) -> Reason:
    options = {"name": "r", "apis": frozenset(Api), "sentence": "Because.", **options}
    return Reason(verdict=Verdict.PERMITTED, **options)


def test_equal_answers_leave_nothing_unexplained() -> None:
    (first, second) = pairs([OK], [OK], PRODUCE, Pause(ms=1), FETCH)
    assert (first.unexplained, second.unexplained) == ([], [])
    assert (first.index, second.index) == (0, 2)


def test_a_change_is_sent_once_and_its_difference_is_unexplained() -> None:
    (pair,) = pairs([OK, LATE], [LATE], PRODUCE)
    assert [one.field for one in pair.unexplained] == ["offset"]


def test_a_read_is_repeated_until_the_answers_agree() -> None:
    system, reference = Answers([OK, OK, LATE]), Answers([LATE])
    (pair,) = compare(of(FETCH), system, reference, ())
    assert pair.differences == ()
    assert system.sent == ["read", "read", "read", "keep read"] == reference.sent


def test_a_read_that_never_agrees_is_a_difference() -> None:
    (pair,) = pairs([OK], [LATE], FETCH)
    assert len(pair.unexplained) == 1


def test_after_an_unexplained_difference_nothing_more_is_compared() -> None:
    first, second = pairs([OK, OK], [LATE, LATE], PRODUCE, PRODUCE)
    assert (first.compared, second.compared) == (True, False)
    assert second.differences == ()


def test_an_explained_difference_ends_the_comparison_only_if_its_reason_says_so() -> None:
    goes_on = pairs([OK], [LATE], PRODUCE, PRODUCE, rows=(row(field="offset"),))
    assert [one.unexplained for one in goes_on] == [[], []]
    assert all(one.compared for one in goes_on)
    ends = pairs([OK], [LATE], PRODUCE, PRODUCE, rows=(row(field="offset", ends=True),))
    assert [one.compared for one in ends] == [True, False]


def test_a_general_reason_applies_only_after_a_read_was_repeated() -> None:
    late = Answers([OK, LATE])
    (pair,) = compare(of(FETCH), late, Answers([LATE]), (row(field="offset", general=True),))
    assert pair.differences == ()
    (pair,) = pairs([OK], [LATE], FETCH, rows=(row(field="offset", general=True),))
    assert pair.differences
    assert not pair.unexplained


def test_a_request_that_the_system_lacks_is_sent_to_neither() -> None:
    system, reference = Answers([OK], lacks=frozenset({Api.JOIN_GROUP})), Answers([OK])
    steps = (Begin(label="join a", send=JOIN), Collect(label="join a", within_ms=1), FETCH)
    (pair,) = compare(of(*steps), system, reference, ())
    assert pair.send is FETCH
    assert reference.sent == ["read", "keep read"]


def test_a_recording_has_only_the_steps_that_were_sent() -> None:
    lacks = Answers([OK, LATE], lacks=frozenset({Api.JOIN_GROUP}))
    steps = (Begin(label="a", send=JOIN), PRODUCE, Collect(label="a", within_ms=1), PRODUCE)
    sequence = of(*steps)
    found = tuple(compare(sequence, lacks, Answers([OK, LATE]), ()))
    recorded = answers_of_system(Compared(sequence=sequence, pairs=found))
    assert recorded.sequence.steps == (PRODUCE, PRODUCE)
    assert recorded.answers == {0: OK, 1: LATE}


def test_a_recording_is_left_after_a_difference_that_ends_the_comparison() -> None:
    recorded = Answers([OK], is_running=False)
    (pair,) = compare(of(PRODUCE, PRODUCE), recorded, Answers([LATE]), ())
    assert pair.unexplained


def test_both_sides_begin_before_an_answer_is_collected() -> None:
    system, reference = Answers([OK]), Answers([OK])
    steps = (Begin(label="join a", send=JOIN), Collect(label="join a", within_ms=1))
    (pair,) = compare(of(*steps), system, reference, ())
    assert pair.send is JOIN
    assert system.sent == ["begin join a", "append", "keep join"] == reference.sent


def test_sides_are_closed_and_sequences_come_in_order() -> None:
    opened: list[Answers] = []

    def sides(number: int, sequence: Steps) -> tuple[Answers, Answers]:
        opened.append(Answers([number]))
        return opened[-1], Answers([number])

    done = list(run([of(FETCH)] * 5, sides, (), workers=2))
    assert [one.pairs[0].system for one in done] == [0, 1, 2, 3, 4]
    assert all(one.sent[-1] == "closed" for one in opened)


def test_a_trail_has_the_requests_before_a_difference() -> None:
    sequence = of(PRODUCE, FETCH)
    found = tuple(pairs([OK, {"error_code": "FENCED"}], [OK], *sequence.steps))
    assert trail(Compared(sequence=sequence, pairs=found), found[1]) == [
        "PRODUCE v9: append: no error | no error",
        "FETCH v12: read: FENCED | no error",
    ]


def test_reasons_are_counted_by_family_and_unused_reasons_are_listed() -> None:
    rows = (row(field="offset"), row(name="other", field="nothing"))
    found = Found()
    pair = pairs([OK], [LATE], PRODUCE, rows=rows)
    found.add(Compared(sequence=of(PRODUCE), pairs=tuple(pair)))
    assert (found.sent["appends"], found.compared["appends"], found.broken["appends"]) == (1, 1, 0)
    assert (found.alike, found.examples["r"].difference.field) == (0, "offset")
    assert found.stale(rows) == ["other"]
    assert found.by_verdict(rows)[Verdict.PERMITTED] == 1


def test_a_difference_that_is_a_defect_of_the_other_system_is_listed() -> None:
    theirs = Reason(
        name="f",
        verdict=Verdict.THEIRS,
        apis=frozenset(Api),
        field="offset",
        sentence="Kafka differs.",
    )
    found = Found()
    pair = pairs([OK], [LATE], PRODUCE, rows=(theirs,))
    found.add(Compared(sequence=of(PRODUCE), pairs=tuple(pair)))
    assert found.findings["f"].difference.field == "offset"
    assert not found.unexplained
