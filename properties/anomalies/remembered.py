"""A cache for functions of a history: each runs only once for a history, although many definitions
call it.

The literal definitions of anomalies compute facts from the whole history, for example the sent
values and their offsets. The result of a `remembered` function must depend only on its parameters,
and no caller may change the result.
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
    """Returns a version of the function `fact` that stores its results for the newest history.

    The first parameter of `fact` is the history. A call with a different history object deletes all
    stored results, even if the two histories are equal, because histories are compared by identity.
    The other parameters are compared by value.
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
