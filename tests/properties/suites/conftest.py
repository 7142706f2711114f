"""Fixtures that choose the database of the applications under test.

The default is SQLite. Tests with the fixture `postgres` use PostgreSQL, and are skipped if no
server is configured.
"""

from __future__ import annotations

import os

import pytest

from properties.suites.delivery.stores.store import DSN

SERVER = os.environ.get(DSN)


@pytest.fixture(autouse=True)
def in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DSN, raising=False)


@pytest.fixture
def postgres(in_sqlite: None, monkeypatch: pytest.MonkeyPatch) -> str:
    if SERVER is None:
        pytest.skip(f"{DSN} is not set")
    monkeypatch.setenv(DSN, SERVER)
    return SERVER
