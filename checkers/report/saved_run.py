"""Reads a run folder and writes its report, at the end of the run or at any later time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from checkers.events import Event
from checkers.report.html import report
from checkers.report.run_result import run_result
from checkers.run_files import DESCRIPTION, EVENTS, REPORT
from checkers.saved_events import UnreadableEvents, from_json
from model.faults import InputFault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class NoRun(InputFault):
    """Raised if a folder is not a run folder, or if its run ended before the first verdict."""


def write_report(folder: Path) -> Path:
    """Writes report.html into the run folder, and returns its path.

    Raises NoRun if the folder has no verdict, and UnreadableEvents if a line of its events is
    invalid.
    """
    result = run_result(events(folder))
    if not result.findings:
        raise NoRun(
            f"{folder}: this run has no verdicts, so there is nothing to report; name another run"
        )
    written = folder / REPORT
    written.write_text(report(result, description(folder)), encoding="utf-8")
    return written


def events(folder: Path) -> list[Event]:
    """Returns the events of the run. If the run was killed, the last line of the file may be
    incomplete. An incomplete last line is omitted.
    """
    read: list[Event] = []
    for number, line in lines_of(folder / EVENTS):
        try:
            read.append(from_json(line))
        except UnreadableEvents as fault:
            raise UnreadableEvents(f"{folder / EVENTS}, line {number}: {fault}") from fault
    return read


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yields each complete line of a file with its number, counted from 1. A last line without a
    line break is omitted.
    """
    whole, _, _torn = _text(path).rpartition("\n")
    yield from enumerate(whole.split("\n") if whole else (), 1)


def description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    try:
        described: Any = json.loads(_text(path))
    except ValueError as fault:
        raise NoRun(f"{path}: not JSON ({fault}); name the folder of a run, runs/...") from fault
    if not isinstance(described, dict):
        raise NoRun(f"{path}: not a JSON object; name the folder of a run, runs/...")
    return described


def _why(fault: OSError | UnicodeDecodeError) -> str:
    return str(fault.strerror) if isinstance(fault, OSError) else "not UTF-8"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise NoRun(
            f"{path}: cannot be read ({_why(fault)}); name the folder of a run, runs/..."
        ) from fault
