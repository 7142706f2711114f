"""Applications store in SQLite, and in PostgreSQL only in tests that use the fixture."""

from __future__ import annotations

import os

import pytest

from properties.suites.delivery.stores.store import DSN

SERVER = os.environ.get(DSN)


@pytest.fixture(autouse=True)
def in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the PostgreSQL server of the environment from all tests."""
    monkeypatch.delenv(DSN, raising=False)


@pytest.fixture
def postgres(in_sqlite: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes the applications of this test store in the PostgreSQL server of the environment."""
    if SERVER is None:
        pytest.skip(f"{DSN} is not set")
    monkeypatch.setenv(DSN, SERVER)
    return SERVER
