"""Fixtures that answer requests of the explorer's API in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkers.explore.requests import Explorer

Ask = Callable[..., dict[str, Any]]

BUG: dict[str, Any] = {
    "spec": "replication",
    "variant": "truncate-to-hw",
    "constants": {"replicas": 2, "max_leader_epoch": 2},
}


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    made = Explorer(opened={**BUG, "path": ""})
    yield made
    made.stop()


@pytest.fixture
def ask(explorer: Explorer) -> Ask:
    """Returns a function that sends a request to the explorer, such as `ask("walk", path=...)`.

    A request is about the variant `truncate-to-hw` of `replication`, unless it names another one.
    """

    def asking(name: str, **request: Any) -> dict[str, Any]:
        return explorer.answer(name, {**BUG, **request})

    return asking


@pytest.fixture
def ended(ask: Ask) -> Ask:
    """Returns a function that starts a search, waits for its end, and returns its result."""

    def searching(name: str, **request: Any) -> dict[str, Any]:
        found = ask(name, **request)
        until = time.monotonic() + 60
        while found["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.01)
            found = {**ask("job", job=found["job"]), "job": found["job"]}
        return found

    return searching
