"""Whose fault it is when something cannot go on: an error class says so by its type.

A violation of a claim is no error: it is a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputFault(Exception):
    """What the user gave is wrong: the message names the fault, the place and the next move."""


class UnknownName(InputFault):
    """A name that nothing has; the message lists the nearest three."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no {kind} {name!r}; the nearest: {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """The three known names that look most like this one, as text."""
    near = get_close_matches(name, sorted(known), n=3, cutoff=0.0)
    return ", ".join(near) or "there are none"
