"""Caches functions of a history: each is computed once, although many definitions call it.

The literal definition of an anomaly computes what it needs from the whole history, for example the
sent values and their offsets. Forty definitions compute the same facts. A function that is
`remembered` computes its result only once, and keeps it until a call with another history. The
result must depend on nothing but the parameters, and no caller may change the result.
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
    """Returns the function with a cache of its results for one history: the history of the newest
    call.

    A call with another history object empties the cache, even if the two histories are equal. So
    histories are never compared. The other parameters are compared.
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
