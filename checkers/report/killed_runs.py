"""Finds runs that were killed before they ended, and the results that are in their run folders."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from checkers.run_files import CHECKPOINT, CHECKPOINT_LIST, EVENTS, HISTORY, RUNNING
from checkers.scratch import locked

VERDICTS = (b'"property_decided"', b'"anomaly_decided"')


def killed_runs(base: Path) -> Iterator[str]:
    """Yields a text for each killed run in the folder `base`. A run is reported only once: later
    calls omit it.
    """
    for running in sorted(base.glob(f"*/{RUNNING}")):
        lock = locked(running)
        if lock is not None:
            yield f"{running.parent}: this run was killed; {_kept(running.parent)}"
            running.unlink(missing_ok=True)
            os.close(lock)


def _kept(folder: Path) -> str:
    kept: list[str] = []
    events = folder / EVENTS
    lines = events.read_bytes().split(b"\n") if events.is_file() else []
    verdicts = sum(any(name in line for name in VERDICTS) for line in lines[:-1])
    if verdicts:
        plural = "" if verdicts == 1 else "s"
        kept.append(f"{verdicts} verdict{plural} (urteil report {shlex.quote(str(folder))})")
    history = folder / HISTORY
    if (history / "history.json").is_file():
        judge = f"urteil analyze {shlex.quote(str(history))}"
        go_on = f"urteil record --resume {shlex.quote(str(folder))}"
        kept.append(f"a history ({judge}{f', or {go_on}' if _has_cluster(history) else ''})")
    command = _search(folder / CHECKPOINT / CHECKPOINT_LIST)
    if command is not None:
        kept.append(f"a checkpoint ({command} --resume {shlex.quote(str(folder))})")
    return f"kept: {' and '.join(kept)}" if kept else "it has no verdicts"


def _has_cluster(history: Path) -> bool:
    """Returns True if the history was recorded on a cluster that Urteil did not start."""
    try:
        settings = json.loads((history / "history.json").read_text(encoding="utf-8"))["settings"]
        return bool(settings["system"] == settings["bootstrap_servers"])
    except (ValueError, KeyError, TypeError, OSError):  # not written by `urteil record`
        return False


def _search(checkpoint: Path) -> str | None:
    """Returns the command of the search that wrote the checkpoint. Returns None if there is no
    readable checkpoint.
    """
    try:
        return str(json.loads(checkpoint.read_text(encoding="utf-8"))["checkpoint"]["command"])
    except (ValueError, KeyError, TypeError, OSError):
        return None
