"""A reporter that hears every event and writes one file once the run has finished.

The file is there from the start, empty: a run that dies leaves nothing that an earlier one wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checkers.events import Event, RunFinished
from checkers.report.account import Account, account
from model.faults import InputFault


@dataclass(slots=True)
class Document:
    """The file that `render` makes of a run's account, asked for by an option."""

    path: Path
    option: str
    render: Callable[[Account], str]
    _events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, RunFinished):
            self._write(self.render(account(self._events)))

    @classmethod
    def begun(cls, path: Path, option: str, render: Callable[[Account], str]) -> Document:
        """With its file empty; InputFault where it can't be written."""
        made = cls(path, option, render)
        made._write("")
        return made

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text, encoding="utf-8")
        except OSError as why:
            raise InputFault(
                f"{self.option} {self.path} can't be written: {why.strerror}; name another file"
            ) from why
