"""`tools.conformance` records which systems were compared, and writes docs/conformance.md from this
record.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers.conform.campaign import Compared, compare
from checkers.conform.reason import Reason, Verdict
from checkers.conform.steps import Send, Steps
from reference_impl.wire.messages.apis import Api
from tests.checkers.conform.test_campaign import Answers
from tools.conformance import record
from tools.conformance.__main__ import PAGE, counted, page
from tools.conformance.record import Counted, Outcome, keep, kept, outcome

SEND = Send(api=Api.PRODUCE, version=9, body={}, to="any", note="append")
ROW = Reason(
    name="late",
    verdict=Verdict.THEIRS,
    apis=frozenset({Api.PRODUCE}),
    field="offset",
    sentence="It is late.",
)


def compared(*offsets: int) -> Compared:
    """Returns a comparison of a system with the reference broker, on a sequence of sends.

    The system answers each send with one of the given offsets. The reference broker answers every
    send with offset 0, so any other offset is a difference.
    """
    steps = Steps(family="appends", seed=0, topics=(), steps=(SEND,) * len(offsets))
    theirs = Answers([{"error_code": "NONE", "offset": one} for one in offsets])
    ours = Answers([{"error_code": "NONE", "offset": 0}])
    return Compared(sequence=steps, pairs=tuple(compare(steps, theirs, ours, (ROW,))))


@pytest.fixture
def made() -> Outcome:
    return outcome("a-system", 7, counted([compared(0, 1, 1)], None), (ROW,), "2026-11-23")


def test_a_row_counts_the_pairs_and_shows_the_first_difference(made: Outcome) -> None:
    assert (made.sent, made.compared, made.alike, made.unexplained) == (3, 3, 1, 0)
    example = "PRODUCE v9 (append): offset is 1, of the reference broker 0"
    assert made.reasons == (
        Counted(name="late", verdict="theirs", sentence="It is late.", pairs=2, example=example),
    )


def test_a_comparison_ends_once_enough_pairs_are_compared() -> None:
    assert counted((compared(0) for _ in range(9)), 3).sent.total() == 3


def test_rows_are_kept_by_system(
    made: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "KEPT", tmp_path / "record.json")
    assert kept() == ()
    keep([made, replace(made, system="b"), replace(made, seed=8)])
    assert [(one.system, one.seed) for one in kept()] == [("a-system", 8), ("b", 7)]
    assert kept()[1].reasons == made.reasons


def test_the_page_has_each_system_and_each_reason(made: Outcome) -> None:
    text = page([made])
    assert "Only these families of requests were sent: appends." in text
    assert "| a-system | 7 | 3 | 3 | 1 | 0 | 2 | 0 | 0 |" in text
    assert "| late | 2 | It is late. | `PRODUCE v9 (append): offset is 1," in text


def test_the_page_is_that_of_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(kept())


def test_a_peer_has_no_difference_without_a_reason() -> None:
    assert {row.system for row in kept()} >= {"apache-kafka:4.3.0", "kfake"}
    assert [row.system for row in kept() if row.unexplained] == []
