"""The folder of a run. It is created before the work starts, so no result is lost if the run
crashes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checkers.events import AnomalyDecided, Event, PropertyDecided, RunFinished
from checkers.report.repository import commit_of
from checkers.run_files import DESCRIPTION, EVENTS, REPORT, RUNNING
from checkers.scratch import locked
from model.faults import InputFault

OWN: Final = frozenset({DESCRIPTION, EVENTS, REPORT, RUNNING})
_STEM_AND_ENDINGS: Final = re.compile(r"(.+?)((?:\.[a-z]+)*)")


@dataclass(slots=True)
class RunFolder:
    """A folder such as `runs/2026-11-21T0142-c3f1`, which contains everything about one run."""

    path: Path
    _running: int | None = None  # file descriptor: the lock of this process
    _decided: bool = False
    _taken: set[str] = field(default_factory=lambda: set(OWN))

    @classmethod
    def make(cls, base: Path, *, command: list[str], seed: int) -> RunFolder:
        """Creates a new run folder in the folder `base`. Raises InputFault if the run folder
        cannot be created.
        """
        from importlib.metadata import version  # late: commands without a folder start faster

        now = datetime.now(tz=UTC)
        path = base / f"{now:%Y-%m-%dT%H%M}-{os.urandom(2).hex()}"
        described = {
            "command": command,
            "seed": seed,
            "started": now.isoformat(timespec="milliseconds"),
            "urteil": version("urteil"),
            "python": platform.python_version(),
            # platform.platform() starts a process
            "platform": f"{platform.system()}-{platform.release()}-{platform.machine()}",
            "cores": os.cpu_count(),
        }
        if (commit := commit_of(Path())) is not None:
            described |= {"commit": commit.hash, "uncommitted": commit.uncommitted}
        try:
            path.mkdir(parents=True)
            (path / RUNNING).touch()
            running = _locked(path / RUNNING)
            (path / DESCRIPTION).write_text(
                json.dumps(described, indent=1) + "\n", encoding="utf-8"
            )
        except OSError as why:
            raise InputFault(
                f"cannot create a run folder below {base}: {why.strerror}; name another by --out"
            ) from why
        return cls(path, running)

    def __call__(self, event: Event) -> None:
        with (self.path / EVENTS).open("a", encoding="utf-8") as lines:
            lines.write(event.as_json() + "\n")
        if isinstance(event, PropertyDecided | AnomalyDecided):
            self._decided = True
        if isinstance(event, RunFinished) and self._decided:
            from checkers.report.saved_run import write_report  # Jinja is slow to import

            write_report(self.path)

    def end(self) -> None:
        """Marks the run as ended. Without this mark, the next run would report the run as
        killed.
        """
        (self.path / RUNNING).unlink(missing_ok=True)
        if self._running is not None:
            os.close(self._running)
            self._running = None

    def drop_if_bare(self) -> None:
        """Deletes the folder if it has no files other than run.json, events.ndjson and
        report.html.
        """
        files = [*self.path.iterdir()]
        if {file.name for file in files} <= OWN:
            for file in files:
                file.unlink()
            self.path.rmdir()

    def keep(self, name: str, text: str) -> str:
        """Writes a text to a new file of the folder, and returns the name of the file.

        The file has the name `name`, with `-` for special characters. If this name is already used,
        a number is inserted before the file's endings.
        """
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "evidence"
        parts = _STEM_AND_ENDINGS.fullmatch(plain)
        stem, endings = parts.groups() if parts is not None else (plain, "")
        free = plain
        number = 2
        while free in self._taken:
            free, number = f"{stem}-{number}{endings}", number + 1
        self._taken.add(free)
        (self.path / free).write_text(text, encoding="utf-8")
        return free


def _locked(marker: Path) -> int | None:
    try:
        return locked(marker)
    except OSError:  # without locks, a run that goes on would be reported as killed
        marker.unlink()
        return None


def command_line() -> list[str]:
    return ["urteil", *sys.argv[1:]]
