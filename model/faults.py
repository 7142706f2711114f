"""Error classes for mistakes of the user. Any other exception is an error of Urteil itself.

A violation of a claim is not an error, but the result of a check.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputFault(Exception):
    """An error in the user's input. Its message names the place of the mistake and the next step to
    take.
    """


class UnknownName(InputFault):
    """The error for a name that does not exist. Its message lists the three most similar names.

    `of` says where the name was searched. For a claim, it is for example `replication
    fetch-divergence`: a spec and its variant.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, of: str = "") -> None:
        missing = f"{of} has no {kind}" if of else f"no {kind}"
        super().__init__(f"{missing} {name!r}; the nearest: {nearest(name, known)}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the three names of `known` that are most similar to `name`, joined into one text. If
    `known` is empty, returns `there are none`.
    """
    names = sorted(known)
    containing = [one for one in names if name and name.casefold() in one.casefold()]
    containing.sort(key=lambda one: (not one.casefold().startswith(name.casefold()), len(one)))
    similar = get_close_matches(name, names, n=len(names) or 1, cutoff=0.0)
    near = [*containing, *(one for one in similar if one not in containing)]
    return ", ".join(near[:3]) or "there are none"
