"""A store in PostgreSQL. Each store has its own schema, which is dropped when the store closes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, LiteralString

from model.faults import InputFault
from properties.suites.delivery.stores.store import DSN, Conflict, Row

try:
    import psycopg
    from psycopg import sql
except ModuleNotFoundError as missing:
    raise InputFault(
        f"--postgres or {DSN} is set, but psycopg is not installed: pip install 'urteil[postgres]'"
    ) from missing

NAMED_BY: Final = f"--postgres or {DSN}"
TABLES: Final = (
    "effects (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, value TEXT NOT NULL)",
    "positions (key TEXT PRIMARY KEY, next_offset BIGINT NOT NULL)",
    "consumed (message TEXT PRIMARY KEY)",
)


class PostgresStore:
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
                f"{NAMED_BY}: {reason}; name a running server on which you may create a schema,"
                " or leave the option and the variable out"
            ) from error
        self._connection.execute(sql.SQL("SET search_path TO {}").format(name))
        for table in TABLES if self._owns_schema else ():
            self.execute(f"CREATE TABLE {table}")

    def execute(self, statement: str, *parameters: object) -> Sequence[Row]:
        done = self._connection.execute(statement.replace("?", "%s").encode(), parameters)
        return done.fetchall() if done.description else ()

    def prepare(self, name: str) -> None:
        try:
            self._end("PREPARE TRANSACTION {}", name)
        except psycopg.errors.ObjectNotInPrerequisiteState as error:
            raise InputFault(
                f"{NAMED_BY}: the server does not allow prepared transactions;"
                " set max_prepared_transactions = 10 in postgresql.conf"
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
        self._end("COMMIT PREPARED {}", name)

    def roll_back_prepared(self, name: str) -> None:
        self._end("ROLLBACK PREPARED {}", name)

    def close(self) -> None:
        if self._owns_schema:
            for name in self.prepared():
                self.roll_back_prepared(name)
            drop = sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.schema))
            self._connection.execute(drop)
        self._connection.close()

    def _end(self, statement: LiteralString, name: str) -> None:
        gid = sql.Literal(f"{self.schema}/{name}")
        try:
            self._connection.execute(sql.SQL(statement).format(gid))
        except psycopg.errors.UndefinedObject as error:
            raise Conflict(f"no transaction is prepared as {name}") from error
