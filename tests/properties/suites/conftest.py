"""Where applications store: in SQLite, and in PostgreSQL where a test asks for it."""

from __future__ import annotations

import os

import pytest

from properties.suites.delivery.stores.store import DSN

SERVER = os.environ.get(DSN)


@pytest.fixture(autouse=True)
def in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test stores in the server that the environment names, unless it asks to."""
    monkeypatch.delenv(DSN, raising=False)


@pytest.fixture
def postgres(in_sqlite: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server that the environment names, where applications of this test store."""
    if SERVER is None:
        pytest.skip(f"{DSN} names no server")
    monkeypatch.setenv(DSN, SERVER)
    return SERVER
