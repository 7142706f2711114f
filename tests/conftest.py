"""What holds for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

# how long an example takes tells of the machine; `--timeout` ends what hangs
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


@pytest.fixture(autouse=True)
def outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in a test annotates nothing of the job that runs the tests, and adds no summary."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
