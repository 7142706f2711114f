"""A reporter that collects every event of a run, and writes one file when the run finishes.

The file is emptied when the run starts, so it never contains the result of an earlier run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checkers.events import Event, RunFinished
from checkers.report.run_result import RunResult, run_result
from model.faults import InputFault


@dataclass(slots=True)
class Document:
    path: Path
    option: str
    render: Callable[[RunResult], str]
    _events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, RunFinished):
            self._write(self.render(run_result(self._events)))

    @classmethod
    def begun(cls, path: Path, option: str, render: Callable[[RunResult], str]) -> Document:
        made = cls(path, option, render)
        made._write("")
        return made

    def _write(self, text: str) -> None:
        try:
            self.path.write_text(text, encoding="utf-8")
        except OSError as why:
            raise InputFault(
                f"{self.option} {self.path}: cannot be written: {why.strerror}; "
                "name a file in a folder that exists"
            ) from why
