"""The recorded results of the clients' scenarios: benchmarks/results/clients.json.

A row has the results of one client, in the version that was tried most recently. The file also has
the result of each example of docs/how-to/faults-in-your-tests.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from tools.clients.installed import CLIENTS, Client, Installed
from tools.clients.trial import Cell, Outcome

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "clients.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    client: str
    language: str
    version: str
    cells: Mapping[str, Cell]

    @classmethod
    def of(cls, rows: Sequence[Row], client: Client, program: Installed) -> Row:
        """Returns the recorded results of this client in this version, or a row without results."""
        for row in rows:
            if (row.client, row.version) == (client.name, program.version):
                return row
        return cls(client=client.name, language=client.language, version=program.version, cells={})

    def with_cell(self, scenario: str, cell: Cell) -> Row:
        cells = {**self.cells, scenario: cell}
        return Row(client=self.client, language=self.language, version=self.version, cells=cells)


def kept(path: Path = RESULTS) -> list[Row]:
    """Returns the recorded rows in the order of the file, or [] if there is no file."""
    return [_row(entry) for entry in _document(path)["clients"]]


def kept_examples(path: Path = RESULTS) -> dict[str, Cell]:
    """Returns the results of the examples by their titles. The result is empty if there is no
    file.
    """
    return {title: _cell(entry) for title, entry in _document(path)["examples"].items()}


def save(row: Row, path: Path = RESULTS) -> None:
    """Writes the results of a client to the file. They replace the client's earlier results."""
    rows = {one.client: one for one in kept(path)} | {row.client: row}
    order = [client.name for client in CLIENTS if client.name in rows]
    _write(path, clients=[_entry(rows[name]) for name in order])


def save_example(title: str, cell: Cell, path: Path = RESULTS) -> None:
    """Writes the result of an example to the file. It replaces the example's earlier result."""
    cells = kept_examples(path) | {title: cell}
    _write(path, examples={name: _entry_of_cell(one) for name, one in cells.items()})


def _document(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {"clients": [], "examples": {}, **found}


def _write(path: Path, **changed: Any) -> None:
    path.write_text(json.dumps(_document(path) | changed, indent=1) + "\n", encoding="utf-8")


def _cell(entry: Mapping[str, str]) -> Cell:
    return Cell(outcome=cast(Outcome, entry["outcome"]), note=entry.get("note", ""))


def _entry_of_cell(cell: Cell) -> dict[str, str]:
    return {"outcome": cell.outcome, **({"note": cell.note} if cell.note else {})}


def _row(entry: Mapping[str, Any]) -> Row:
    return Row(
        client=entry["client"],
        language=entry["language"],
        version=entry["version"],
        cells={name: _cell(cell) for name, cell in entry["scenarios"].items()},
    )


def _entry(row: Row) -> dict[str, Any]:
    return {
        "client": row.client,
        "language": row.language,
        "version": row.version,
        "scenarios": {name: _entry_of_cell(cell) for name, cell in row.cells.items()},
    }
