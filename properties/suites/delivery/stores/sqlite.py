"""A store in SQLite, in memory or in a file. The module `store` describes how this store
prepares transactions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from properties.suites.delivery.stores.store import Conflict, Row, transaction

TABLES: Final = (
    "effects (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL)",
    "positions (key TEXT PRIMARY KEY, next_offset INTEGER NOT NULL)",
    "consumed (message TEXT PRIMARY KEY)",
    "prepared (name TEXT PRIMARY KEY, statements TEXT NOT NULL)",
)


class SqliteStore:
    """A connection to an SQLite database. Several connections may use the same file."""

    def __init__(self, file: Path | None = None) -> None:
        self._connection = sqlite3.connect(file or ":memory:", isolation_level=None)
        self._ran: list[tuple[str, tuple[object, ...]]] = []  # statements of the open transaction
        for table in TABLES:
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table}")

    def execute(self, statement: str, *parameters: object) -> Sequence[Row]:
        if statement == "BEGIN":
            self._ran.clear()
            statement = "BEGIN IMMEDIATE"  # so that a second writer waits here, not later
        elif self._connection.in_transaction:
            self._ran.append((statement, parameters))
        return self._connection.execute(statement, parameters).fetchall()

    def prepare(self, name: str) -> None:
        statements = json.dumps(self._ran)
        self.execute("ROLLBACK")
        self.execute("INSERT INTO prepared VALUES (?, ?)", name, statements)

    def prepared(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self.execute("SELECT name FROM prepared ORDER BY name"))

    def commit_prepared(self, name: str) -> None:
        with transaction(self):
            for statement, parameters in self._take(name):
                self.execute(statement, *parameters)

    def roll_back_prepared(self, name: str) -> None:
        self._take(name)

    def close(self) -> None:
        self._connection.close()

    def _take(self, name: str) -> list[tuple[str, list[object]]]:
        found = self.execute("DELETE FROM prepared WHERE name = ? RETURNING statements", name)
        if not found:
            raise Conflict(f"no transaction is prepared as {name}")
        statements: Any = json.loads(found[0][0])
        return [(statement, parameters) for statement, parameters in statements]
