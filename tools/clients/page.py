"""Writes the page docs/clients.md from the recorded results of all clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.clients.reasons import REASONS
from tools.clients.results import Row
from tools.clients.scenarios import SCENARIOS, Scenario
from tools.clients.trial import Cell

PAGE: Final = Path(__file__).parents[2] / "docs" / "clients.md"
UNTRIED: Final = "not tried"
TOP: Final = """<!-- Written by tools/clients from benchmarks/results/clients.json: do not edit. -->
# Clients

`make clients` runs unmodified Kafka clients against `urteil broker`, a cluster of three brokers.
A cell says whether the client passed the scenario. *Not offered*: the client has no API for it.
Each cell that is not *passed* has its reason below the table.
"""
EXAMPLES_TOP: Final = """The programs of [faults in your tests](how-to/faults-in-your-tests.md).
Each one ends with an error if it does not see the effect of its fault.
"""


def page(rows: Sequence[Row], examples: Mapping[str, Cell]) -> str:
    return "\n".join((TOP, *_lines(rows, examples))).rstrip() + "\n"


def _lines(rows: Sequence[Row], examples: Mapping[str, Cell]) -> Iterator[str]:
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
    yield from _notes("Notes on passed scenarios", "passed", rows)
    if examples:
        yield "## Examples of faults"
        yield ""
        yield EXAMPLES_TOP
        found = ((title, cell.outcome, cell.note) for title, cell in examples.items())
        yield from _table(("Language", "Outcome", "Note"), found)


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
