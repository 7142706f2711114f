"""Waits until a condition of a served cluster is true: brokers apply a change with a delay."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")
WITHIN_S = 60.0


def until(is_true: Callable[[], R]) -> R:
    """Returns the first true value of the function; fails after a minute."""
    deadline_s = time.monotonic() + WITHIN_S
    while not (found := is_true()):
        assert time.monotonic() < deadline_s, "it takes too long"
        time.sleep(0.02)
    return found
