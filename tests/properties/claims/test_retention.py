"""A reader that is away for less than the promised time loses no record to retention.

Each test checks this claim on a history of one or two operations.
"""

from __future__ import annotations

import pytest

from model.histories import MicroOperation, Operation, Poll, Send
from properties.claims.retention import NS_PER_MS, Absence, KeptForReaders, retention_loses

WRITER, READER = 1, 2


def did(process: int, at_ms: int, *what: MicroOperation, outcome: str = "ok") -> Operation:
    return Operation(
        process=process,
        f="send" if process == WRITER else "poll",
        outcome="ok" if outcome == "ok" else "info",
        invoked_ns=at_ms * NS_PER_MS,
        completed_ns=(at_ms + 1) * NS_PER_MS,
        did=what,
    )


def run(*history: Operation, left_ms: int = 10, asked_ms: int = 50) -> KeptForReaders:
    absence = Absence(
        process=READER,
        left_ns=left_ms * NS_PER_MS,
        requested_ns=asked_ms * NS_PER_MS,
        back_ns=(asked_ms + 5) * NS_PER_MS,
    )
    return KeptForReaders(history=history, absences=(absence,), promised_ms=100)


def test_a_reader_that_receives_everything_has_lost_nothing() -> None:
    sent, polled = did(WRITER, 20, Send("p", "a", 0)), did(READER, 52, Poll("p", 0, "a"))
    assert retention_loses(run(sent, polled)) == ()


def test_a_record_sent_meanwhile_and_not_received_is_lost() -> None:
    sent, polled = did(WRITER, 20, Send("p", "a", 0)), did(READER, 52, Poll("p", 1, "b"))
    (breach,) = retention_loses(run(sent, polled))
    assert breach.why == "a reader that was away for 45 of 100 ms did not receive a at offset 0"
    assert retention_loses(run(sent, did(3, 52, Poll("p", 0, "a")))) != ()  # another's does not do


@pytest.mark.parametrize(
    "kept",
    [
        run(did(WRITER, 5, Send("p", "a", 0))),  # before it left
        run(
            did(WRITER, 49, Send("p", "a", 0))
        ),  # acknowledged after the reader had listed the end offset
        run(did(WRITER, 20, Send("p", "a", 0), outcome="info")),  # perhaps never written
        run(did(WRITER, 20, Send("p", "a", 0)), asked_ms=105),  # it stayed away for longer
    ],
)
def test_other_missing_records_are_no_breach(kept: KeptForReaders) -> None:
    assert retention_loses(kept) == ()
