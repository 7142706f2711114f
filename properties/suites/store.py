"""The database of a consumer application: its effects, its positions, and whom it has served.

    effects      what processing did: one row for each time it was done
    positions    how far the application is in a topic partition, if it keeps that here
    consumed     the messages whose effects are here: the table of an idempotent consumer

What stands in one `transaction` is kept together or not at all, and survives the application. What
was `prepared` is kept and not yet visible: it survives too, until somebody commits it or rolls it
back by its name, which is the first half of a two-phase commit.

The SQL lives beside the suites: only they have applications, and what they judge is read from here.

    SQLite       in memory or in a file. It has no PREPARE TRANSACTION: the statements run, are
                 rolled back, and are themselves kept, durably and under the name; the commit runs
                 them again and forgets them, in one transaction. Unlike the real thing it holds no
                 locks in between: what the statements found may have changed by then.
    PostgreSQL   PREPARE TRANSACTION as it is; the server needs max_prepared_transactions > 0

Source: D0 (the consumer's position in the same store as its output); J. Gray and A. Reuter,
"Transaction Processing", two-phase commit; PostgreSQL's documentation, PREPARE TRANSACTION.
Simplified: a transaction begins and ends between two pauses of a program. Who dies inside it has,
for the database, died before it: tests of the stores show that.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

DSN: Final = "URTEIL_POSTGRES_DSN"  # where the variable names a server, applications store there
_SERVER: Final = ContextVar[str | None]("the server that applications store in", default=None)

Row = tuple[Any, ...]


class Conflict(Exception):
    """The position is not where the application took it to be: another instance was faster."""


class Store(Protocol):
    """A database with the three tables; SQL with `?` for each parameter."""

    def execute(self, statement: str, *parameters: object) -> Sequence[Row]:
        """The rows that the statement returns; outside a transaction it is one of its own."""
        ...

    def prepare(self, name: str) -> None:
        """The open transaction is kept under this name, and no longer open."""
        ...

    def prepared(self) -> tuple[str, ...]:
        """The names of what was prepared and has no end yet."""
        ...

    def commit_prepared(self, name: str) -> None:
        """It takes effect; Conflict if there is nothing of this name."""
        ...

    def roll_back_prepared(self, name: str) -> None:
        """It never happened; Conflict if there is nothing of this name."""
        ...

    def close(self) -> None:
        """Nothing is left of the connection; what was committed or prepared stays."""
        ...


@contextmanager
def transaction(store: Store, prepare_as: str | None = None) -> Generator[None]:
    """What is done inside happens together, at the end; of what raises nothing happens.

    With a name it is only prepared.
    """
    store.execute("BEGIN")
    try:
        yield
    except BaseException:
        store.execute("ROLLBACK")
        raise
    if prepare_as is None:
        store.execute("COMMIT")
    else:
        store.prepare(prepare_as)


def append(store: Store, value: str) -> None:
    """The effect of processing, once more."""
    store.execute("INSERT INTO effects (value) VALUES (?)", value)


def effects(store: Store) -> tuple[str, ...]:
    """Every effect, in order."""
    return tuple(str(value) for (value,) in store.execute("SELECT value FROM effects ORDER BY id"))


def is_new(store: Store, message: str) -> bool:
    """Notes that the message is consumed; False if that was noted before."""
    noted = "INSERT INTO consumed (message) VALUES (?) ON CONFLICT DO NOTHING RETURNING message"
    return bool(store.execute(noted, message))


def position(store: Store, key: str) -> int:
    """What the application reads next; 0 where it has remembered nothing."""
    found = store.execute("SELECT next_offset FROM positions WHERE key = ?", key)
    return int(found[0][0]) if found else 0


def remember(store: Store, key: str, offset: int) -> None:
    """The position, whatever it was before."""
    store.execute(
        "INSERT INTO positions (key, next_offset) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET next_offset = excluded.next_offset",
        key,
        offset,
    )


def advance(store: Store, key: str, since: int, offset: int) -> None:
    """The position, if it still is what it was; Conflict if not."""
    store.execute("INSERT INTO positions VALUES (?, 0) ON CONFLICT DO NOTHING", key)
    moved = "UPDATE positions SET next_offset = ? WHERE key = ? AND next_offset = ? RETURNING key"
    if not store.execute(moved, offset, key, since):
        raise Conflict(f"{key} is no longer at {since}")


@contextmanager
def kept_in(dsn: str | None) -> Generator[None]:
    """Stores are opened in this PostgreSQL server; None leaves the choice to the environment."""
    before = _SERVER.set(dsn)
    try:
        yield
    finally:
        _SERVER.reset(before)


def server() -> str | None:
    """The PostgreSQL server that stores are opened in, if it was named and not only found."""
    return _SERVER.get()


def tried() -> None:
    """A store can be opened, written and prepared; InputFault where it can't."""
    with closing(opened()) as trial, transaction(trial, prepare_as="trial"):
        append(trial, "trial")


def opened() -> Store:
    """An empty store: in PostgreSQL where somebody names a server, else in SQLite in memory."""
    dsn = server() or os.environ.get(DSN)
    if dsn:
        from properties.suites.postgres_store import PostgresStore  # loads psycopg

        return PostgresStore(dsn)
    from properties.suites.sqlite_store import SqliteStore

    return SqliteStore()
