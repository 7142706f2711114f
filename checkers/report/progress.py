"""Progress on stderr: one live line on a terminal, a line for each stage in a log.

A live line is drawn over itself a few times a second and leaves nothing behind. A log hears of a
stage once, and of one that lasts again every half minute; never within the first second nor twice
within another: stages that come and go faster are not worth a line. What is told as mere text has
no stages: a log hears of it every half minute.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from checkers.progress import Progress

if TYPE_CHECKING:
    from typing import TextIO

BLINK_S: Final = 0.2  # between two drawings of the live line
LULL_S: Final = 1.0  # between two lines of a log
SILENCE_S: Final = 30.0  # between two lines of a log on one stage
BAR: Final = 20  # characters
_CLEAR: Final = "\r\x1b[K"


@dataclass(slots=True)
class ProgressLine:
    """Shows progress on one stream, which is a terminal or a log."""

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _stage: str = ""
    _began: float = 0.0  # when the stage did
    _spoke: float | None = None
    _logged: str = ""  # the stage that a log heard of last
    _drawn: bool = False

    def __call__(self, told: Progress | str) -> None:
        now, stage = self.clock(), told.stage if isinstance(told, Progress) else ""
        if stage != self._stage:
            self._stage, self._began = stage, now
        if self.stream.isatty():
            self._draw(told, now)
        else:
            self._log(told, now)

    def clear(self) -> None:
        """Takes the live line away."""
        if self._drawn:
            self._drawn = False
            self._write(_CLEAR)

    def _draw(self, told: Progress | str, now: float) -> None:
        if self._spoke is not None and now - self._spoke < BLINK_S:
            return
        self._spoke, self._drawn = now, True
        room = shutil.get_terminal_size().columns - 1
        self._write(f"{_CLEAR}{self._live(told, now)[:room]}")

    def _live(self, told: Progress | str, now: float) -> str:
        if isinstance(told, str):
            return told
        seconds = int(now - self._began)
        lasted = f"  {seconds} s" if seconds else ""
        if not told.total:
            return f"{told}{lasted}"
        full = BAR * min(told.done, told.total) // told.total
        return f"{'━' * full}{'─' * (BAR - full)}  {told}{lasted}"

    def _log(self, told: Progress | str, now: float) -> None:
        if self._spoke is None:
            self._spoke = now  # what is over at once needs no line
        elif now - self._spoke >= (LULL_S if self._stage not in ("", self._logged) else SILENCE_S):
            self._spoke, self._logged = now, self._stage
            self._write(f"{told}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
