"""A function `replace` that does the same as `dataclasses.replace`, but is ten times faster for the
values of this broker.

`dataclasses.replace` took 40 % of the time of a produce request: a step replaces ten or more
values.

The slots of a frozen class can be set only by slow calls. Each class therefore gets a *twin*, a
class that has the same slots and is not frozen. A value is copied in these steps:

    copy = Twin() -> copy.a = value.a, copy.b = value.b -> the changes -> copy.__class__ = Class

The last step requires that both classes have the same layout, have slots, and have no
`__post_init__`. For all other classes, `dataclasses.replace` is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value, /, **changes):
        """Returns a copy with some fields changed; raises TypeError if there is no such field."""
        kind = type(value)
        try:
            copied = _copiers[kind]
        except KeyError:
            copied = _copiers[kind] = _copier(kind)
        if copied is None:
            return dataclasses.replace(value, **changes)
        copy = copied(value)
        try:
            for name, new in changes.items():
                setattr(copy, name, new)
        except AttributeError:
            raise TypeError(f"{kind.__name__} has no field {name!r}") from None
        copy.__class__ = kind
        return copy


_copiers: dict[type[Any], Callable[[Any], Any] | None] = {}


def _copier(kind: type[Any]) -> Callable[[Any], Any] | None:
    """Returns a function that copies a value of the class `kind` to an instance of the twin of
    `kind`. Returns None if `kind` cannot have a twin. The twin is a class with the same slots,
    whose instances are not frozen.
    """
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    fields = dataclasses.fields(kind)
    names = [field.name for field in fields]
    slots = [getattr(kind, name, None) for name in names]
    has_dictionary = bool(type.__getattribute__(kind, "__dictoffset__"))
    is_plain = all(field.init for field in fields) and not has_dictionary
    if not names or not is_plain or not all(hasattr(slot, "__set__") for slot in slots):
        return None
    body = {"__slots__": kind.__dict__["__slots__"], "__setattr__": object.__setattr__}
    twin: Any = type(f"{kind.__name__}Twin", kind.__bases__, body)
    try:
        object.__new__(twin).__class__ = kind
    except TypeError:
        return None
    lines = [f"    copy.{name} = value.{name}" for name in names]
    source = ["def copied(value):", "    copy = new(twin)", *lines, "    return copy"]
    scope: dict[str, Any] = {"new": object.__new__, "twin": twin}
    exec("\n".join(source), scope)
    copied: Callable[[Any], Any] = scope["copied"]
    return copied
