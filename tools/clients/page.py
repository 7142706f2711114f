"""Prints the results of all clients as the page docs/clients.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tools.clients.reasons import REASONS
from tools.clients.results import Row
from tools.clients.scenarios import SCENARIOS, Scenario

PAGE: Final = Path(__file__).parents[2] / "docs" / "clients.md"
UNTRIED: Final = "not tried"
TOP: Final = """<!-- Written by tools/clients from benchmarks/results/clients.json: do not edit. -->
# Clients

`make clients` runs unmodified Kafka clients against `urteil broker`, a cluster of three brokers.
A cell says whether the client passed the scenario. *Not offered*: the client has no API for it.
Each other cell has its reason below the table.
"""


def page(rows: Sequence[Row]) -> str:
    """Returns the text of the page docs/clients.md."""
    return "\n".join((TOP, *_lines(rows))).rstrip() + "\n"


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    yield from _table(
        ("Scenario", *(f"{row.client} {row.version}" for row in rows)),
        ((scenario.title, *(_outcome(row, scenario) for row in rows)) for scenario in SCENARIOS),
    )
    yield "## Scenarios"
    yield ""
    yield from (f"- **{scenario.title}**: {scenario.meaning}" for scenario in SCENARIOS)
    yield ""
    yield from _failures(rows)
    yield from _notes("Not offered", "not offered", rows)
    yield from _notes("Not tried", "not tried", rows)
    yield from _notes("Codecs and errors of passed scenarios", "passed", rows)


def _outcome(row: Row, scenario: Scenario) -> str:
    cell = row.cells.get(scenario.name)
    if cell is None:
        return UNTRIED
    return f"**{cell.outcome}**" if cell.outcome == "failed" else cell.outcome


def _failures(rows: Sequence[Row]) -> Iterator[str]:
    found = [
        (row.client, scenario.title, cell.note, REASONS.get((row.client, scenario.name), "unknown"))
        for row in rows
        for scenario in SCENARIOS
        if (cell := row.cells.get(scenario.name)) and cell.outcome == "failed"
    ]
    if found:
        yield "## Failed"
        yield ""
        yield from _table(("Client", "Scenario", "What happened", "Reason"), found)


def _notes(title: str, outcome: str, rows: Sequence[Row]) -> Iterator[str]:
    found = [
        (row.client, scenario.title, cell.note)
        for row in rows
        for scenario in SCENARIOS
        if (cell := row.cells.get(scenario.name)) and cell.outcome == outcome and cell.note
    ]
    if found:
        yield f"## {title}"
        yield ""
        yield from _table(("Client", "Scenario", "Note"), found)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
