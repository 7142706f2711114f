"""Stores: what a transaction, a prepared one and the death of an application leave behind."""

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
    """Each call is one more connection to one database."""
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


def test_a_transaction_happens_as_a_whole(opens: Opens) -> None:
    database, other = opens(), opens()
    with transaction(database):
        store.add_effect(database, "a")
        store.set_position(database, "orders-0", 1)
    assert store.effects(other) == ("a",)
    assert store.position(other, "orders-0") == 1


def test_of_one_that_raises_nothing_happens(opens: Opens) -> None:
    database = opens()

    def fails() -> None:
        with transaction(database):
            store.add_effect(database, "a")
            raise Conflict("it can't go on")

    with pytest.raises(Conflict):
        fails()
    assert store.effects(database) == ()
    store.add_effect(database, "b")  # and it goes on
    assert store.effects(database) == ("b",)


def test_who_advances_from_where_the_position_no_longer_is_changes_nothing(opens: Opens) -> None:
    owner, zombie = opens(), opens()
    since = store.position(zombie, "orders-0")
    with transaction(owner):
        store.add_effect(owner, "a")
        store.advance_position(owner, "orders-0", 0, 1)

    def goes_on() -> None:
        with transaction(zombie):
            store.add_effect(zombie, "a")
            store.advance_position(zombie, "orders-0", since, 1)

    with pytest.raises(Conflict, match="the position of orders-0 is no longer 0"):
        goes_on()
    assert store.effects(owner) == ("a",)


def test_a_message_is_new_once(opens: Opens) -> None:
    database = opens()
    marked = [store.mark_consumed(database, message) for message in ("m", "n", "m")]
    assert marked == [True, True, False]


def test_what_is_prepared_is_invisible_survives_and_ends_as_somebody_else_says(
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


def test_a_process_that_is_killed_inside_a_transaction_died_before_it(
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
def test_the_effects_are_those_of_the_transactions_that_were_committed(
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


NOBODY = "host=127.0.0.1 port=1 connect_timeout=2"


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(opening.open_store(), SqliteStore)
    monkeypatch.setenv(store.DSN, NOBODY)
    with pytest.raises(InputFault, match=r"^--postgres or URTEIL_POSTGRES_DSN: .*refused"):
        opening.open_store()


def test_a_server_that_is_told_goes_before_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(store.DSN, NOBODY)
    with opening.in_postgres("nonsense"):
        assert opening.chosen_server() == "nonsense"
        with pytest.raises(InputFault, match="in connection info string; name a running server"):
            opening.open_store()
    assert opening.chosen_server() is None
    with opening.in_postgres(None), pytest.raises(InputFault, match="refused"):
        opening.open_store()


def test_what_was_tried_leaves_nothing(postgres: str) -> None:
    with opening.in_postgres(postgres):
        opening.check_store()
        database = opening.open_store()
    assert isinstance(database, PostgresStore)
    schemas = "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?"
    assert database.execute(schemas, database.schema)
    assert store.effects(database) == ()
    database.close()


def test_without_psycopg_the_next_move_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "properties.suites.delivery.stores.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with (
        opening.in_postgres(NOBODY),
        pytest.raises(InputFault, match=r"psycopg is not installed: .*'urteil\[postgres\]'"),
    ):
        opening.open_store()


def test_a_schema_ends_with_its_store(postgres: str) -> None:
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
