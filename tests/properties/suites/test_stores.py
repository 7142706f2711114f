"""Database stores: transactions, prepared transactions, and the death of an application."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.faults import InputFault
from properties.suites.delivery.stores import opening, store
from properties.suites.delivery.stores.postgres import PostgresStore
from properties.suites.delivery.stores.sqlite import SqliteStore
from properties.suites.delivery.stores.store import Conflict, Store, transaction

Opens = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opens]:
    """Yields a function that opens one more connection to the same database."""
    opened: list[Store] = []
    dsn = request.getfixturevalue("postgres") if request.param == "postgres" else ""

    def connect() -> Store:
        if request.param == "sqlite":
            opened.append(SqliteStore(tmp_path / "store.db"))
        elif not opened:
            opened.append(PostgresStore(dsn))
        else:
            first = opened[0]
            assert isinstance(first, PostgresStore)
            opened.append(PostgresStore(dsn, schema=first.schema))
        return opened[-1]

    yield connect
    for one in reversed(opened):
        one.close()


def test_a_transaction_is_atomic(opens: Opens) -> None:
    database, other = opens(), opens()
    with transaction(database):
        store.add_effect(database, "a")
        store.set_position(database, "orders-0", 1)
    assert store.effects(other) == ("a",)
    assert store.position(other, "orders-0") == 1


def test_an_exception_rolls_the_transaction_back(opens: Opens) -> None:
    database = opens()

    def fails() -> None:
        with transaction(database):
            store.add_effect(database, "a")
            raise Conflict("another instance was faster")

    with pytest.raises(Conflict):
        fails()
    assert store.effects(database) == ()
    store.add_effect(database, "b")  # the store still works
    assert store.effects(database) == ("b",)


def test_advancing_from_an_outdated_position_changes_nothing(opens: Opens) -> None:
    owner, zombie = opens(), opens()
    since = store.position(zombie, "orders-0")
    with transaction(owner):
        store.add_effect(owner, "a")
        store.advance_position(owner, "orders-0", 0, 1)

    def continues() -> None:
        with transaction(zombie):
            store.add_effect(zombie, "a")
            store.advance_position(zombie, "orders-0", since, 1)

    with pytest.raises(Conflict, match="the position of orders-0 is no longer 0"):
        continues()
    assert store.effects(owner) == ("a",)


def test_a_message_is_marked_consumed_once(opens: Opens) -> None:
    database = opens()
    marked = [store.mark_consumed(database, message) for message in ("m", "n", "m")]
    assert marked == [True, True, False]


def test_a_prepared_transaction_is_invisible_until_another_connection_ends_it(
    opens: Opens,
) -> None:
    dies, after = opens(), opens()
    for name in ("kept", "dropped"):
        with transaction(dies, prepare_as=name):
            store.add_effect(dies, name)
    assert store.effects(after) == ()
    assert after.prepared() == ("dropped", "kept")
    after.commit_prepared("kept")
    after.roll_back_prepared("dropped")
    assert store.effects(after) == ("kept",)
    assert after.prepared() == ()
    with pytest.raises(Conflict, match="no transaction is prepared as kept"):
        dies.commit_prepared("kept")
    with pytest.raises(Conflict, match="no transaction is prepared as dropped"):
        dies.roll_back_prepared("dropped")


DIES = """
import os, signal
from pathlib import Path
from properties.suites.delivery.stores import opening, store
from properties.suites.delivery.stores.store import transaction
from {module} import {name}

database = {name}({arguments})
store.add_effect(database, "before")
with transaction(database, prepare_as="prepared"):
    store.add_effect(database, "prepared")
with transaction(database):
    store.add_effect(database, "inside")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_inside_a_transaction_leaves_nothing_of_it(
    opens: Opens, tmp_path: Path
) -> None:
    database = opens()
    if isinstance(database, PostgresStore):
        arguments = f"{os.environ[store.DSN]!r}, schema={database.schema!r}"
    else:
        arguments = f"Path({str(tmp_path / 'store.db')!r})"
    kind = type(database)
    program = DIES.format(module=kind.__module__, name=kind.__name__, arguments=arguments)
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    assert store.effects(database) == ("before",)
    assert database.prepared() == ("prepared",)
    database.commit_prepared("prepared")
    assert store.effects(database) == ("before", "prepared")


ENDS = st.sampled_from(["commit", "raise", "prepare, commit", "prepare, roll back"])


@given(st.lists(st.tuples(ENDS, st.lists(st.sampled_from("abc"), max_size=3)), max_size=8))
def test_only_committed_transactions_have_effects(
    did: list[tuple[str, list[str]]],
) -> None:
    database = SqliteStore()
    expected: list[str] = []
    for number, (ends, values) in enumerate(did):
        name = f"t{number}" if ends.startswith("prepare") else None
        try:
            with transaction(database, prepare_as=name):
                for value in values:
                    store.add_effect(database, value)
                if ends == "raise":
                    raise Conflict
        except Conflict:
            continue
        if ends == "prepare, commit":
            database.commit_prepared(f"t{number}")
        if ends == "prepare, roll back":
            database.roll_back_prepared(f"t{number}")
        else:
            expected += values
    assert store.effects(database) == tuple(expected)
    database.close()


NO_SERVER = "host=127.0.0.1 port=1 connect_timeout=2"


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(opening.open_store(), SqliteStore)
    monkeypatch.setenv(store.DSN, NO_SERVER)
    with pytest.raises(InputFault, match=r"^--postgres or URTEIL_POSTGRES_DSN: .*refused"):
        opening.open_store()


def test_a_server_of_the_option_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(store.DSN, NO_SERVER)
    with opening.in_postgres("nonsense"):
        assert opening.chosen_server() == "nonsense"
        with pytest.raises(InputFault, match="in connection info string; name a running server"):
            opening.open_store()
    assert opening.chosen_server() is None
    with opening.in_postgres(None), pytest.raises(InputFault, match="refused"):
        opening.open_store()


def test_checking_a_store_leaves_nothing_behind(postgres: str) -> None:
    with opening.in_postgres(postgres):
        opening.check_store()
        database = opening.open_store()
    assert isinstance(database, PostgresStore)
    schemas = "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?"
    assert database.execute(schemas, database.schema)
    assert store.effects(database) == ()
    database.close()


def test_without_psycopg_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "properties.suites.delivery.stores.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with (
        opening.in_postgres(NO_SERVER),
        pytest.raises(InputFault, match=r"psycopg is not installed: .*'urteil\[postgres\]'"),
    ):
        opening.open_store()


def test_closing_a_store_drops_its_schema(postgres: str) -> None:
    first = PostgresStore(postgres)
    with transaction(first, prepare_as="open"):
        store.add_effect(first, "a")
    first.close()
    second = PostgresStore(postgres)
    schemas = "SELECT 1 FROM information_schema.schemata WHERE schema_name = ?"
    assert not second.execute(schemas, first.schema)
    assert not second.execute(
        "SELECT 1 FROM pg_prepared_xacts WHERE gid LIKE ?", f"{first.schema}/%"
    )
    second.close()
