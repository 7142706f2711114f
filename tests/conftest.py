"""What holds for every test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in a test annotates nothing of the job that runs the tests, and adds no summary."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
