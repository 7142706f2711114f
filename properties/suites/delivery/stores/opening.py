"""Opens the database of an application: on a PostgreSQL server if one is configured, otherwise in
SQLite in memory.

The server is configured by `in_postgres(dsn)` (the option `--postgres`) or by the environment
variable `URTEIL_POSTGRES_DSN`. If both are present, the option is used.
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
    """Makes `open_store` use the PostgreSQL server `dsn` within a `with` block.

    If `dsn` is None, `open_store` uses the environment variable `URTEIL_POSTGRES_DSN`, if it is
    set.
    """
    before = _SERVER.set(dsn)
    try:
        yield
    finally:
        _SERVER.reset(before)


def chosen_server() -> str | None:
    """Returns the PostgreSQL server that `in_postgres` has set, or None if there is no such server.

    The environment variable `URTEIL_POSTGRES_DSN` has no effect on the result.
    """
    return _SERVER.get()


def check_store() -> None:
    """Raises InputFault if the configured database does not permit writes or prepared
    transactions.
    """
    with closing(open_store()) as trial, transaction(trial, prepare_as="trial"):
        add_effect(trial, "trial")


def open_store() -> Store:
    """Returns a new, empty database: on a PostgreSQL server if one is configured, otherwise in
    SQLite in memory.
    """
    dsn = chosen_server() or os.environ.get(DSN)
    if dsn:
        from properties.suites.delivery.stores.postgres import PostgresStore  # loads psycopg

        return PostgresStore(dsn)
    return SqliteStore()
