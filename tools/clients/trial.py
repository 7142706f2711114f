"""Runs one scenario of one client against the reference broker, within a time limit."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from checkers.testing.broker import Broker, InjectedFault
from tools.clients.installed import Installed
from tools.clients.scenarios import Scenario, prepare
from tools.clients.written import codecs

Outcome = Literal["passed", "not offered", "failed"]
OUTCOMES: Final = get_args(Outcome)
RECORDS: Final = "records"
ACTS_WITHIN_S: Final = 1.0  # the program has ended, so its last request has arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The result of one client in one scenario.

    `note` explains the outcome. For example, it describes a failure, or names the codecs that were
    used.
    """

    outcome: Outcome
    note: str = ""


def try_scenario(
    broker: Broker, client: Installed, scenario: Scenario, topic: str, records: int
) -> tuple[Cell, str]:
    """Runs a scenario of a client, and returns its result and the text that the program wrote to
    its standard error.
    """
    broker.reset()
    crashes = prepare(scenario, broker, topic)
    call = [*client.command, scenario.name, broker.bootstrap_servers, topic, str(records)]
    try:
        ended = subprocess.run(
            call, capture_output=True, text=True, timeout=scenario.limit_s, check=False
        )
    except subprocess.TimeoutExpired as expired:
        said = (expired.stderr or b"").decode(errors="replace")
        return Cell(outcome="failed", note=f"not finished after {scenario.limit_s:.0f} s"), said
    cell = _read(ended)
    if cell.outcome == "passed" and scenario.name == RECORDS:
        cell = _checked_codecs(broker, topic, cell)
    if cell.outcome == "passed" and crashes and not _has_crashed(crashes):
        return Cell(outcome="failed", note="the planned crash did not happen"), ended.stderr
    return cell, ended.stderr


def _has_crashed(crashes: Sequence[InjectedFault]) -> bool:
    deadline = time.monotonic() + ACTS_WITHIN_S
    while not any(crash.acted for crash in crashes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _checked_codecs(broker: Broker, topic: str, cell: Cell) -> Cell:
    try:
        found = codecs(broker, topic)
    except ValueError as error:
        return Cell(outcome="failed", note=str(error))
    if found != set(cell.note.split(", ")):
        return Cell(outcome="failed", note=f"the batches have the codecs {sorted(found)}")
    return cell


def _read(ended: subprocess.CompletedProcess[str]) -> Cell:
    lines = ended.stdout.splitlines()
    try:
        result = json.loads(lines[-1])
        assert result["outcome"] in OUTCOMES
        return Cell(outcome=result["outcome"], note=str(result["note"]))
    except (IndexError, ValueError, KeyError, AssertionError):
        return Cell(outcome="failed", note=f"the program ended with code {ended.returncode}")
