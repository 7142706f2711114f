"""Reads the outcome of a test from the output of `go test` or from a JUnit report of pytest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from tools.others_suites.results import Outcome, Result

NOTE_LENGTH: Final = 200
_ENDED: Final = re.compile(r"^--- (PASS|FAIL|SKIP): (\w+) \(([\d.]+)s\)$", re.M)
_LOGGED: Final = re.compile(r"^ +\w+\.go:\d+: (.*)$", re.M)
# Lines that every test logs at its end, with any outcome.
_NOISE: Final = re.compile(r"deleting (?:topic|group)|NOT DELETING|completed in ")
_PATH: Final = re.compile(r"(?:/[\w.@+~-]+){2,}/?")
_HEX: Final = re.compile(r"\b[0-9a-f]{16,}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_GO: Final[dict[str, Outcome]] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


def go_result(test: str, output: str, seconds: float, limit_s: float | None = None) -> Result:
    """Returns the result of a test from the output of `go test`.

    `limit_s` is the time limit that ended the test, or None if the test ended by itself.
    """
    if limit_s is not None or "panic: test timed out after" in output:
        note = f"not finished after {seconds if limit_s is None else limit_s:.0f} s"
        return Result(test=test, outcome="failed", seconds=seconds, note=note)
    for verdict, name, took in _ENDED.findall(output):
        if name == test:
            outcome = _GO[verdict]
            note = "" if outcome == "passed" else _first_logged(output)
            return Result(test=test, outcome=outcome, seconds=float(took), note=note)
    panics = re.search(r"^(?:panic|fatal error): .*$", output, re.M)
    note = shortened(panics[0]) if panics else "the process ended without a result"
    return Result(test=test, outcome="failed", seconds=seconds, note=note)


def _first_logged(output: str) -> str:
    found = [line for line in _LOGGED.findall(output) if not _NOISE.search(line)]
    return shortened(found[0]) if found else ""


def junit_results(report: str) -> list[Result]:
    """Returns the results in the order of the report, or [] for a report without tests."""
    # the report was written by the pytest process that the tool has started itself
    cases = ElementTree.fromstring(report).iter("testcase")
    return [_case(case) for case in cases]


def _case(case: ElementTree.Element) -> Result:
    file = case.get("classname", "").rpartition(".")[2]
    test = f"{file}::{case.get('name', '')}"
    seconds = float(case.get("time", "0"))
    for kind, outcome in _JUNIT:
        found = case.find(kind)
        if found is not None:
            note = shortened(found.get("message", ""))
            return Result(test=test, outcome=outcome, seconds=seconds, note=note)
    return Result(test=test, outcome="passed", seconds=seconds)


_JUNIT: Final[Sequence[tuple[str, Outcome]]] = (
    ("failure", "failed"),
    ("error", "failed"),
    ("skipped", "skipped"),
)


def shortened(text: str) -> str:
    """Returns the first line of a text without paths and random names, at most 200 characters.

    >>> shortened("open /home/me/x.log: no such file\\nmore")
    'open PATH: no such file'
    """
    first = text.strip().partition("\n")[0].strip()
    return _HEX.sub("ID", _PATH.sub("PATH", first))[:NOTE_LENGTH]
