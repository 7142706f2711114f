"""The folder of a run, made and described before anything is analysed: a crash loses nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from checkers.events import AnomalyDecided, Event, PropertyDecided, RunFinished
from model.faults import InputFault

DESCRIPTION: Final = "run.json"
EVENTS: Final = "events.ndjson"
REPORT: Final = "report.html"
OWN: Final = frozenset({DESCRIPTION, EVENTS, REPORT})


@dataclass(slots=True)
class RunFolder:
    """A folder like `runs/2026-11-21T0142-c3f1`.

    run.json says what was run, events.ndjson everything that it told, report.html the same as a
    page once the run has ended; other files are evidence. A run that decided nothing has no report.
    """

    path: Path
    _decided: bool = False
    _taken: set[str] = field(default_factory=lambda: set(OWN))

    @classmethod
    def make(cls, base: Path, *, command: list[str], seed: int) -> RunFolder:
        """A new folder below `base`; InputFault where it can't be written."""
        now = datetime.now(tz=UTC)
        path = base / f"{now:%Y-%m-%dT%H%M}-{secrets.token_hex(2)}"
        described = {
            "command": command,
            "seed": seed,
            "started": now.isoformat(timespec="seconds"),
            "urteil": version("urteil"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "cores": os.cpu_count(),
        }
        try:
            path.mkdir(parents=True)
            (path / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n")
        except OSError as why:
            raise InputFault(
                f"no run folder can be made below {base}: {why.strerror}; name another with --out"
            ) from why
        return cls(path)

    def __call__(self, event: Event) -> None:
        with (self.path / EVENTS).open("a") as lines:
            lines.write(event.as_json() + "\n")
        if isinstance(event, PropertyDecided | AnomalyDecided):
            self._decided = True
        if isinstance(event, RunFinished) and self._decided:
            from checkers.report.again import write_report

            write_report(self.path)

    def drop_if_bare(self) -> None:
        """Removes a folder that holds no more than its own description."""
        files = [*self.path.iterdir()]
        if {file.name for file in files} <= OWN:
            for file in files:
                file.unlink()
            self.path.rmdir()

    def keep(self, name: str, text: str) -> str:
        """Writes a piece of evidence under a name that is free, and returns that name.

        A name may hold anything: a spec's may be the path of a file.
        """
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "evidence"
        stem, dot, ending = plain.rpartition(".") if "." in plain else (plain, "", "")
        free = plain
        number = 2
        while free in self._taken:
            free, number = f"{stem}-{number}{dot}{ending}", number + 1
        self._taken.add(free)
        (self.path / free).write_text(text, encoding="utf-8")
        return free


def command_line() -> list[str]:
    """This process's command, as it can be typed again."""
    return ["urteil", *sys.argv[1:]]
