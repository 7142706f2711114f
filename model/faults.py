"""Error classes for mistakes of the user; any other exception is an error of Urteil itself.

A violation of a claim is a verdict, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputFault(Exception):
    """An error in the user's input; the message says where it is, and what to do next."""


class UnknownName(InputFault):
    """The error for a name that does not exist; its message lists the three nearest names.

    `of` names the place where the name was looked up, such as `replication fetch-divergence`.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, of: str = "") -> None:
        missing = f"{of} has no {kind}" if of else f"no {kind}"
        super().__init__(f"{missing} {name!r}; the nearest: {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the three known names that are most similar to `name`, joined into one text."""
    names = sorted(known)
    containing = [one for one in names if name and name.casefold() in one.casefold()]
    containing.sort(key=lambda one: (not one.casefold().startswith(name.casefold()), len(one)))
    similar = get_close_matches(name, names, n=len(names) or 1, cutoff=0.0)
    near = [*containing, *(one for one in similar if one not in containing)]
    return ", ".join(near[:3]) or "there are none"
