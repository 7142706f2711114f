"""`replace`, as in `dataclasses`, but three times faster for the values of this broker.

For a frozen class with slots and without `__post_init__`, this `replace` copies the slots. For
every other class it calls `dataclasses.replace`. A step of a broker replaces ten or more values,
and `dataclasses.replace` took 40 % of the time of a produce request.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """Returns the value with other values of the named fields.

        Raises TypeError if there is no such field.
        """
        kind = type(value)
        plan = _plan(kind)
        if plan is None:
            return dataclasses.replace(value, **changes)
        copy = kind.__new__(kind)
        for put, old in zip(plan.setters, plan.get(value), strict=True):
            put(copy, old)
        by_name = plan.by_name
        for name, new in changes.items():
            if name not in by_name:
                raise TypeError(f"{kind.__name__} has no field {name!r}")
            by_name[name](copy, new)
        return copy


class _Plan(NamedTuple):
    get: Callable[[Any], tuple[Any, ...]]  # returns the values of all fields
    setters: tuple[Callable[[Any, Any], None], ...]  # of the slots, in the same order
    by_name: dict[str, Callable[[Any, Any], None]]


@cache
def _plan(kind: type[Any]) -> _Plan | None:
    """Returns functions that read and write the fields of a class.

    Returns None unless the class is a plain dataclass with two or more slots.
    """
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    fields = dataclasses.fields(kind)
    names = [field.name for field in fields]
    slots = [getattr(kind, name, None) for name in names]
    has_dictionary = bool(type.__getattribute__(kind, "__dictoffset__"))
    is_plain = all(field.init for field in fields) and not has_dictionary
    if len(names) < 2 or not is_plain or not all(hasattr(slot, "__set__") for slot in slots):
        return None
    setters = tuple(slot.__set__ for slot in slots if slot is not None)
    return _Plan(attrgetter(*names), setters, dict(zip(names, setters, strict=True)))
