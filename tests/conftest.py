"""Fixtures that apply to every test."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

# No deadline for an example: it would depend on the machine; `--timeout` ends a hanging test.
# Two runs of one commit try the same examples, so a change is judged by what it changed. The
# nightly run tries new ones: `make test PYTEST_ADDOPTS=--hypothesis-profile=random`.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, derandomize=False)
settings.load_profile("repeatable")


# A garbage collection examines the objects of all imported modules, and finds little garbage. Fewer
# collections save a quarter of the time of a simulation.
gc.set_threshold(50_000)


def pytest_collection_finish() -> None:
    """Excludes the objects of the collected test modules from garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides GitHub Actions from the tests, so that no test writes to the summary of the CI job."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
