"""Displays progress on stderr: one line that is overwritten on a terminal, or lines of text in a
log.

In a log, a new stage of the work prints a line if no line was printed in the last second. While a
stage goes on, it prints another line every 30 seconds.
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

BLINK_S: Final = 0.2  # between two redraws of the live line
LULL_S: Final = 1.0  # between two lines of a log
SILENCE_S: Final = 30.0  # between two lines of a log for the same stage
BAR: Final = 20  # characters
_CLEAR: Final = "\r\x1b[K"


@dataclass(slots=True)
class ProgressLine:
    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _stage: str = ""
    _began: float = 0.0  # of the stage
    _written_at: float | None = None
    _logged: str = ""  # the last stage in the log
    _drawn: bool = False

    def __call__(self, progress: Progress | str) -> None:
        now, stage = self.clock(), progress.stage if isinstance(progress, Progress) else ""
        if stage != self._stage:
            self._stage, self._began = stage, now
        if self.stream.isatty():
            self._draw(progress, now)
        else:
            self._log(progress, now)

    def clear(self) -> None:
        if self._drawn:
            self._drawn = False
            self._write(_CLEAR)

    def _draw(self, progress: Progress | str, now: float) -> None:
        if self._written_at is not None and now - self._written_at < BLINK_S:
            return
        self._written_at, self._drawn = now, True
        room = shutil.get_terminal_size().columns - 1
        self._write(f"{_CLEAR}{self._live(progress, now)[:room]}")

    def _live(self, progress: Progress | str, now: float) -> str:
        if isinstance(progress, str):
            return progress
        seconds = int(now - self._began)
        lasted = f"  {seconds} s" if seconds else ""
        if not progress.total:
            return f"{progress}{lasted}"
        full = BAR * min(progress.done, progress.total) // progress.total
        return f"{'━' * full}{'─' * (BAR - full)}  {progress}{lasted}"

    def _log(self, progress: Progress | str, now: float) -> None:
        if self._written_at is None:
            self._written_at = now  # nothing in the first second
            return
        new_stage = self._stage not in ("", self._logged)
        if now - self._written_at >= (LULL_S if new_stage else SILENCE_S):
            self._written_at, self._logged = now, self._stage
            self._write(f"{progress}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
