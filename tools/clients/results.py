"""The recorded results of the clients' scenarios: benchmarks/results/clients.json.

The file has one row for each client library or program, with the version that was tried last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.clients.installed import CLIENTS, Client, Installed
from tools.clients.trial import Cell

RESULTS: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "clients.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The results of one client in one version: for each tried scenario its outcome."""

    client: str
    language: str
    version: str
    cells: Mapping[str, Cell]

    @classmethod
    def of(cls, rows: Sequence[Row], client: Client, program: Installed) -> Row:
        """Returns the recorded row of this client and version, or a new row without results."""
        for row in rows:
            if (row.client, row.version) == (client.name, program.version):
                return row
        return cls(client=client.name, language=client.language, version=program.version, cells={})

    def with_cell(self, scenario: str, cell: Cell) -> Row:
        cells = {**self.cells, scenario: cell}
        return Row(client=self.client, language=self.language, version=self.version, cells=cells)


def kept(path: Path = RESULTS) -> list[Row]:
    """Returns the recorded results of all clients, in the order of the file; [] without a file."""
    if not path.exists():
        return []
    return [_row(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["clients"]]


def save(row: Row, path: Path = RESULTS) -> None:
    """Records the results of a client, replacing its earlier results."""
    rows = {one.client: one for one in kept(path)} | {row.client: row}
    order = [client.name for client in CLIENTS if client.name in rows]
    document = {"clients": [_entry(rows[name]) for name in order]}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _row(entry: Mapping[str, Any]) -> Row:
    cells = {
        name: Cell(outcome=cell["outcome"], note=cell.get("note", ""))
        for name, cell in entry["scenarios"].items()
    }
    return Row(
        client=entry["client"], language=entry["language"], version=entry["version"], cells=cells
    )


def _entry(row: Row) -> dict[str, Any]:
    cells = {
        name: {"outcome": cell.outcome, **({"note": cell.note} if cell.note else {})}
        for name, cell in row.cells.items()
    }
    return {
        "client": row.client,
        "language": row.language,
        "version": row.version,
        "scenarios": cells,
    }
