"""The report of a run folder, from what the folder keeps: at the end of a run, and ever after."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from checkers.events import Event, UnreadableEvents, from_json
from checkers.report.account import account
from checkers.report.folder import DESCRIPTION, EVENTS, REPORT
from checkers.report.html import report
from model.faults import InputFault

if TYPE_CHECKING:
    from pathlib import Path


class NoRun(InputFault):
    """A folder that is no run's, or of a run that decided nothing: says what to do."""


def write_report(folder: Path) -> Path:
    """Writes report.html into the folder of a run, anew if it is there; NoRun, UnreadableEvents."""
    told = account(events(folder))
    if not told.findings:
        raise NoRun(f"{folder}: the run decided nothing, so there is nothing to report")
    written = folder / REPORT
    written.write_text(report(told, description(folder)), encoding="utf-8")
    return written


def events(folder: Path) -> list[Event]:
    """What the run told; a last line that was cut off is left out: the run was killed."""
    whole, _, _torn = _text(folder / EVENTS).rpartition("\n")
    told: list[Event] = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            told.append(from_json(line))
        except UnreadableEvents as fault:
            raise UnreadableEvents(f"{folder / EVENTS}, line {number}: {fault}") from fault
    return told


def description(folder: Path) -> dict[str, Any]:
    """What the run says of itself."""
    path = folder / DESCRIPTION
    try:
        told: Any = json.loads(_text(path))
    except ValueError as fault:
        raise NoRun(f"{path}: {fault}") from fault
    if not isinstance(told, dict):
        raise NoRun(f"{path}: it is no object")
    return told


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise NoRun(
            f"{path} can't be read ({fault}); name the folder of a run, runs/..."
        ) from fault
