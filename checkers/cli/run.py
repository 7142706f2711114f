"""A run is one invocation of a command. It emits events, saves them, and ends with an exit code.

Results are written to stdout, and progress and notes to stderr. The final event of every run is
`run_finished`.
"""

from __future__ import annotations

import _weakrefset
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from checkers import verdicts
from checkers.events import (
    AnomalyDecided,
    Event,
    Evidence,
    PropertyDecided,
)
from checkers.progress import Progress
from checkers.report.decisions import judged
from checkers.report.folder import RunFolder
from checkers.report.progress import ProgressLine
from checkers.report.shapes import Fingerprints

if TYPE_CHECKING:
    from checkers.over_time.baseline import Baseline

Reporter = Callable[[Event], None]
_WEAK_REFERENCES: Final = {weakref.__file__, _weakrefset.__file__}


class Interrupted(Exception):
    """Raised after the user has pressed Ctrl-C. All verdicts that were reached before have been
    emitted.
    """


@dataclass(slots=True)
class Run:
    command: str
    seed: int
    verbose: int = 0
    quiet: bool = False
    reporters: list[Reporter] = field(default_factory=list)
    judged_by_expectation: bool = False
    brief: bool = False  # a violation by a variant that breaks a claim is one line
    require_exercised: bool = False  # a verdict `not exercised` counts as undecided
    folder: RunFolder | None = None
    decided: list[verdicts.Verdict] = field(default_factory=list)
    interrupted: bool = False
    line: ProgressLine = field(default_factory=lambda: ProgressLine(sys.stderr))
    fingerprints: Fingerprints = field(default_factory=Fingerprints)
    parent: Path = Path("runs")  # of the run folders
    baseline: Baseline | None = None
    began: float = field(default_factory=time.monotonic)

    def emit(self, event: Event) -> None:
        """Passes the event to every reporter. If the event is a verdict, it contributes to the exit
        code of the run.
        """
        event = self.fingerprints(event)
        if isinstance(event, PropertyDecided | AnomalyDecided):
            event = event if self.baseline is None else self.baseline(event)
            self.decided.append(judged(event, by_expectation=self.judged_by_expectation))
        self.line.clear()
        for reporter in self.reporters:
            reporter(event)

    def keep(
        self,
        about: str,
        text: str,
        file: str,
        *,
        verdict_expected: bool = False,
        drawing: str | None = None,
        trace: Mapping[str, Any] | None = None,
        shape: str = "",
    ) -> None:
        """Writes the evidence for a verdict to the run folder, and emits it as an event.

        The event of an expected verdict has no trace in two cases:

        - The command compares each verdict with an expected one, as `urteil verify` does.
        - The run is brief: the terminal prints only one line for such a verdict, as for
          `urteil check --kafka` without SPEC.
        """
        kept = self.written(file, text + "\n")
        expected = verdict_expected and (self.judged_by_expectation or self.brief)
        self.emit(
            Evidence(
                about=about,
                text=text,
                file=kept,
                expected=expected,
                drawing=drawing,
                trace=None if expected else trace,
                shape=shape,
            )
        )

    def written(self, file: str, text: str) -> str | None:
        """Writes the text to a file of the run folder, and returns the name of the file. Returns
        None if the run has no folder.
        """
        return self.folder.keep(file, text) if self.folder is not None else None

    def progress(self, progress: Progress | str) -> None:
        """Displays progress on stderr. On a terminal, it is one line that is updated. In a log, it
        is a few lines.
        """
        self.poll()
        if not self.quiet:
            self.line(progress)

    def poll(self) -> None:
        """Raises KeyboardInterrupt if the user has pressed Ctrl-C, even if the Ctrl-C arrived
        inside a destructor.
        """
        if self.interrupted:
            raise KeyboardInterrupt

    def note(self, text: str) -> None:
        if not self.quiet:
            self.line.clear()
            click.echo(text, err=True)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handles Ctrl-C by raising KeyboardInterrupt. Inside a destructor, nothing is raised, and
        the next call of `poll` raises the exception.
        """
        del number
        self.interrupted = True
        if not _is_destroying(frame):
            raise KeyboardInterrupt

    def folders(self) -> Iterator[Path]:
        if self.folder is not None:
            yield self.folder.path
        yield Path(tempfile.gettempdir())

    def meaning(self, code: int) -> str:
        if code == verdicts.HOLDS and not self.decided:
            return "done"  # a command without verdicts
        if code == verdicts.HOLDS and self.baseline is not None and self.baseline.result().known:
            return "every violation is known"
        table = verdicts.AS_EXPECTED if self.judged_by_expectation else {}
        return {**verdicts.EXIT_CODES, **table}[code]


def _is_destroying(frame: FrameType | None) -> bool:
    """Returns True if the frame, or a frame that called it, is a destructor or a callback of a weak
    reference.

    An exception that such a function raises has no effect: Python prints it and ignores it.
    """
    while frame is not None:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if name == "__del__" or (file in _WEAK_REFERENCES and name in ("remove", "_remove")):
            return True
        frame = frame.f_back
    return False
