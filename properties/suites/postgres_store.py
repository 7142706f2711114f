"""A store in PostgreSQL: each in a schema of its own, which ends with it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, LiteralString

from model.faults import InputFault
from properties.suites.store import DSN, Conflict, Row

try:
    import psycopg
    from psycopg import sql
except ModuleNotFoundError as missing:
    raise InputFault(
        f"--postgres or {DSN} is given and psycopg is not there: pip install 'urteil[postgres]'"
    ) from missing

NAMED_BY: Final = f"--postgres or {DSN}"
TABLES: Final = (
    "effects (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, value TEXT NOT NULL)",
    "positions (key TEXT PRIMARY KEY, next_offset BIGINT NOT NULL)",
    "consumed (message TEXT PRIMARY KEY)",
)


class PostgresStore:
    """One connection, in a schema of its own unless it is told which."""

    def __init__(self, dsn: str, schema: str | None = None) -> None:
        self.schema = schema or f"urteil_{uuid.uuid4().hex}"
        self._owns_schema = schema is None
        name = sql.Identifier(self.schema)
        try:
            self._connection = psycopg.connect(dsn, autocommit=True, client_encoding="utf8")
            if self._owns_schema:
                self._connection.execute("SET client_min_messages = warning")
                self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        except psycopg.Error as error:
            reason = str(error).splitlines()[0]
            raise InputFault(
                f"{NAMED_BY}: {reason}; name a server that runs and lets you create a schema,"
                " or leave it out"
            ) from error
        self._connection.execute(sql.SQL("SET search_path TO {}").format(name))
        for table in TABLES if self._owns_schema else ():
            self.execute(f"CREATE TABLE {table}")

    def execute(self, statement: str, *parameters: object) -> Sequence[Row]:
        done = self._connection.execute(statement.replace("?", "%s").encode(), parameters)
        return done.fetchall() if done.description else ()

    def prepare(self, name: str) -> None:
        try:
            self._ended("PREPARE TRANSACTION {}", name)
        except psycopg.errors.ObjectNotInPrerequisiteState as error:
            raise InputFault(
                f"{NAMED_BY}: the server prepares no transactions;"
                " set max_prepared_transactions = 10"
            ) from error

    def prepared(self) -> tuple[str, ...]:
        prefix = f"{self.schema}/"
        names = self.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY gid"
        )
        return tuple(
            str(gid).removeprefix(prefix) for (gid,) in names if str(gid).startswith(prefix)
        )

    def commit_prepared(self, name: str) -> None:
        self._ended("COMMIT PREPARED {}", name)

    def roll_back_prepared(self, name: str) -> None:
        self._ended("ROLLBACK PREPARED {}", name)

    def close(self) -> None:
        if self._owns_schema:
            for name in self.prepared():
                self.roll_back_prepared(name)
            gone = sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.schema))
            self._connection.execute(gone)
        self._connection.close()

    def _ended(self, statement: LiteralString, name: str) -> None:
        """Names of prepared transactions are the whole server's: the schema tells ours apart."""
        told = sql.Literal(f"{self.schema}/{name}")
        try:
            self._connection.execute(sql.SQL(statement).format(told))
        except psycopg.errors.UndefinedObject as error:
            raise Conflict(f"nothing is prepared as {name}") from error
