"""Caches functions of a history: each is computed once, although many definitions call it.

The literal definitions compute what they need from the whole history, for example the sent values
and their offsets. The result of a `remembered` function must depend on nothing but the parameters,
and no caller may change it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

SubjectT = TypeVar("SubjectT")
OthersT = ParamSpec("OthersT")
FactT = TypeVar("FactT")

Fact = Callable[Concatenate[SubjectT, OthersT], FactT]


def remembered(fact: Fact[SubjectT, OthersT, FactT]) -> Fact[SubjectT, OthersT, FactT]:
    """Returns the function with a cache of its results for the history of the newest call.

    Another history object empties the cache, even an equal one: histories are never compared. The
    other parameters are compared.
    """
    last: tuple[object, dict[Hashable, FactT]] = (None, {})

    @wraps(fact)
    def once(subject: SubjectT, /, *args: OthersT.args, **kwargs: OthersT.kwargs) -> FactT:
        nonlocal last
        if last[0] is not subject:
            last = (subject, {})
        results = last[1]
        others = (args, *kwargs.items())
        if others not in results:
            results[others] = fact(subject, *args, **kwargs)
        return results[others]

    return once
