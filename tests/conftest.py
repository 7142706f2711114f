"""Fixtures that apply to every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

# no deadline per example: it would depend on the machine; `--timeout` ends a hanging test
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


@pytest.fixture(autouse=True)
def outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides GitHub Actions from the tests, so that no test writes to the summary of the CI job."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
