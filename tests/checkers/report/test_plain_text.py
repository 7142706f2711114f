"""On a terminal with a small character set, each symbol is replaced by ASCII, never by `?`."""

from __future__ import annotations

import pytest

from checkers.report.decisions import MARKS
from checkers.report.plain_text import HANDLER, PLAIN, register


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_the_marks_of_verdicts_stay_different(encoding: str) -> None:
    register()
    marks = {verdict: mark.encode(encoding, HANDLER) for verdict, mark in MARKS.items()}
    unobserved = marks.pop("not exercised")
    assert marks == {"holds": b"ok", "violated": b"x", "undecided": b"?"}
    assert unobserved in (b"-", "·".encode(encoding, "ignore"))


def test_every_plain_sign_is_ascii_and_other_characters_are_question_marks() -> None:
    register()
    assert all(plain.isascii() for plain in PLAIN.values())
    assert "a → b ≤ ☃".encode("ascii", HANDLER) == b"a -> b <= ?"
