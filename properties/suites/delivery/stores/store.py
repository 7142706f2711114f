"""The database of a consumer application: three tables, and transactions over them.

    effects      the results of processing: one row for each time that a message was processed
    positions    the next offset that the application reads, by topic partition
    consumed     the processed messages: an idempotent consumer looks them up

A committed `transaction` is atomic and survives the death of the application. A transaction that
was prepared under a name survives too, but stays invisible until the application commits it or
rolls it back by this name.

    PostgreSQL   has PREPARE TRANSACTION; the server needs max_prepared_transactions > 0.
    SQLite       has no PREPARE TRANSACTION. To prepare a transaction, this store rolls it back, and
                 stores the texts of its statements durably under the name. The commit runs the
                 statements again and deletes the texts, in one transaction. Unlike in PostgreSQL,
                 no locks are held from the preparation to the commit. So the rows may have changed
                 before the commit. The database is in memory or in a file.

Source: docs/sources.md DOC0 (the consumer's position in the same store as its output); Gray and
Reuter, "Transaction Processing", two-phase commit; PostgreSQL's documentation, PREPARE TRANSACTION.
Simplified: a simulated program dies before or after a transaction, never inside one. Tests with
real processes check that a death inside a transaction has the same effect on the database as a
death before the transaction.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol

DSN: Final = "URTEIL_POSTGRES_DSN"  # the environment variable that names a PostgreSQL server

Row = tuple[Any, ...]


class Conflict(Exception):
    """Raised if a stored position differs from the expected position, or if no transaction is
    prepared under the requested name.
    """


class Store(Protocol):
    """A connection to a database with the tables `effects`, `positions` and `consumed`.

    In an SQL statement, each parameter is written as `?`.
    """

    def execute(self, statement: str, *parameters: object) -> Sequence[Row]:
        """Runs the statement and returns its rows. If no transaction is open, the statement is
        committed at once.
        """
        ...

    def prepare(self, name: str) -> None:
        """Prepares the open transaction under this name, as PREPARE TRANSACTION does. It then
        survives a crash.

        After this call, the connection has no open transaction.
        """
        ...

    def prepared(self) -> tuple[str, ...]: ...

    def commit_prepared(self, name: str) -> None:
        """Commits the transaction that is prepared under this name. Raises Conflict if there is
        no such transaction.
        """
        ...

    def roll_back_prepared(self, name: str) -> None:
        """Rolls back the transaction that is prepared under this name. Raises Conflict if there
        is no such transaction.
        """
        ...

    def close(self) -> None: ...


@contextmanager
def transaction(store: Store, prepare_as: str | None = None) -> Generator[None]:
    """Runs a `with` block in one database transaction. An exception in the block rolls the
    transaction back.

    If `prepare_as` is not None, the transaction is prepared under this name and not committed.
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


def add_effect(store: Store, value: str) -> None:
    store.execute("INSERT INTO effects (value) VALUES (?)", value)


def effects(store: Store) -> tuple[str, ...]:
    return tuple(str(value) for (value,) in store.execute("SELECT value FROM effects ORDER BY id"))


def mark_consumed(store: Store, message: str) -> bool:
    """Marks the message as consumed. Returns True if it was not marked before."""
    marked = "INSERT INTO consumed (message) VALUES (?) ON CONFLICT DO NOTHING RETURNING message"
    return bool(store.execute(marked, message))


def position(store: Store, key: str) -> int:
    """Returns the stored position for `key` (the next offset to read), or 0 if no position is
    stored.
    """
    found = store.execute("SELECT next_offset FROM positions WHERE key = ?", key)
    return int(found[0][0]) if found else 0


def set_position(store: Store, key: str, offset: int) -> None:
    store.execute(
        "INSERT INTO positions (key, next_offset) VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET next_offset = excluded.next_offset",
        key,
        offset,
    )


def advance_position(store: Store, key: str, since: int, offset: int) -> None:
    """Changes the stored position from `since` to `offset`. Raises Conflict if the stored position
    is not `since`.

    If no position is stored, it counts as 0.
    """
    store.execute("INSERT INTO positions VALUES (?, 0) ON CONFLICT DO NOTHING", key)
    moved = "UPDATE positions SET next_offset = ? WHERE key = ? AND next_offset = ? RETURNING key"
    if not store.execute(moved, offset, key, since):
        raise Conflict(f"the position of {key} is no longer {since}")
