"""Opens the database of an application: in PostgreSQL if configured, otherwise in SQLite in memory.

`in_postgres(dsn)` (the option `--postgres`) or the environment variable `URTEIL_POSTGRES_DSN`
configures a server; the option wins.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Final

from properties.suites.delivery.stores.sqlite import SqliteStore
from properties.suites.delivery.stores.store import DSN, Store, add_effect, transaction

_SERVER: Final = ContextVar[str | None]("the PostgreSQL server of --postgres", default=None)


@contextmanager
def in_postgres(dsn: str | None) -> Generator[None]:
    """Makes `open_store` use the server `dsn`; None selects that of `URTEIL_POSTGRES_DSN`."""
    before = _SERVER.set(dsn)
    try:
        yield
    finally:
        _SERVER.reset(before)


def chosen_server() -> str | None:
    """Returns the PostgreSQL server that `in_postgres` has set, or None; `URTEIL_POSTGRES_DSN` does
    not count.
    """
    return _SERVER.get()


def check_store() -> None:
    """Raises InputFault if the database cannot be written, or cannot prepare transactions."""
    with closing(open_store()) as trial, transaction(trial, prepare_as="trial"):
        add_effect(trial, "trial")


def open_store() -> Store:
    """Returns a new, empty database: in PostgreSQL if configured, otherwise in SQLite in memory."""
    dsn = chosen_server() or os.environ.get(DSN)
    if dsn:
        from properties.suites.delivery.stores.postgres import PostgresStore  # loads psycopg

        return PostgresStore(dsn)
    return SqliteStore()
