"""Progress is one line that is redrawn on a terminal, and a few lines in a log file."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import pytest

from checkers.progress import Progress
from checkers.report.progress import ProgressLine


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass(slots=True)
class Clock:
    now: float = 100.0
    line: ProgressLine = field(init=False)
    stream: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.line = ProgressLine(self.stream, clock=lambda: self.now)

    def at(self, now: float, progress: Progress | str) -> str:
        self.now = 100.0 + now
        before = len(self.stream.getvalue())
        self.line(progress)
        return self.stream.getvalue()[before:]


def stage(name: str, done: int = 0, total: int | None = None, rows: int | None = None) -> Progress:
    return Progress(stage=name, done=done, total=total, rows=rows)


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (stage("reading"), "reading"),
        (stage("reading", 1), "reading  1 task"),
        (stage("reading", 2, rows=3_000), "reading  2 tasks, 3,000 rows"),
        (stage("lost-write", 0, 16), "lost-write  0 of 16 tasks"),
        (stage("lost-write", 3, 1_600, 10**7), "lost-write  3 of 1,600 tasks, 10,000,000 rows"),
    ],
)
def test_unknown_parts_of_progress_are_left_out(progress: Progress, text: str) -> None:
    assert str(progress) == text


def test_a_log_has_one_line_for_each_stage_and_more_for_a_long_stage() -> None:
    log = Clock()
    assert log.at(0, stage("reading")) == ""
    assert log.at(2, stage("starting Spark")) == "starting Spark\n"
    assert log.at(9, stage("duplicate", 0, 16)) == "duplicate  0 of 16 tasks\n"
    assert log.at(30, stage("duplicate", 5, 16)) == ""
    assert log.at(39, stage("duplicate", 6, 16)) == "duplicate  6 of 16 tasks\n"


def test_stages_that_come_and_go_within_a_second_share_a_line() -> None:
    log = Clock()
    log.at(0, stage("none"))
    assert log.at(1, stage("one")) == "one\n"
    assert log.at(1.4, stage("two")) == ""
    assert log.at(1.8, stage("three", 0, 2)) == ""
    assert log.at(2.2, stage("three", 1, 2)) == "three  1 of 2 tasks\n"


def test_a_log_has_a_line_of_text_progress_every_half_minute() -> None:
    log = Clock()
    heard = [second for second in range(100) if log.at(second, f"{second} states")]
    assert heard == [30, 60, 90]
    assert log.at(100, stage("reading")) == "reading\n"
    assert log.at(102, "1 operation") == ""


def test_a_terminal_has_one_line_that_is_redrawn() -> None:
    screen = Clock(stream=Screen())
    assert screen.at(0, stage("duplicate", 0, 4)) == (
        "\r\x1b[K────────────────────  duplicate  0 of 4 tasks"
    )
    assert screen.at(0.1, stage("duplicate", 1, 4)) == ""
    assert screen.at(3.5, stage("duplicate", 3, 4, 1_000)) == (
        "\r\x1b[K━━━━━━━━━━━━━━━─────  duplicate  3 of 4 tasks, 1,000 rows  3 s"
    )
    assert screen.at(4, "so many states") == "\r\x1b[Kso many states"
    assert "\n" not in screen.stream.getvalue()


def test_the_live_line_is_erased_once_and_a_log_keeps_its_lines() -> None:
    for stream, left in ((Screen(), "\r\x1b[K"), (io.StringIO(), "")):
        shown = Clock(stream=stream)
        shown.at(-9, stage("before"))
        shown.at(0, stage("reading"))
        before = len(shown.stream.getvalue())
        shown.line.clear()
        shown.line.clear()
        assert shown.stream.getvalue()[before:] == left


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Clock(stream=Screen())
    assert len(screen.at(0, stage("x" * 200, 1, 2)).removeprefix("\r\x1b[K")) == 39
