"""The constants of a spec: named, typed, and within the range that their annotation declares.

`replicas: Annotated[int, range(1, 10)] = 3` is an integer from 1 to 9; an annotation without a
range is checked by type alone.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass

from model.faults import nearest
from model.language.expressions import SpecError

Value = int | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A constant as a spec declares it."""

    name: str
    type: type
    default: Value
    bounds: range | None = None

    def check(self, spec: str, value: object) -> None:
        """Raises SpecError for a value of another type, or beyond the bounds."""
        if type(value) is not self.type:
            raise SpecError(
                f"{spec}: {self.name} is {self._wanted()}, not {value!r}\n"
                f"  for example {self.name}={str(self.default).lower()}"
            )
        if self.bounds is not None and value not in self.bounds:
            raise SpecError(f"{spec}: {self.name} is {self._wanted()}, not {value!r}")

    def _wanted(self) -> str:
        if self.type is bool:
            return "true or false"
        if self.bounds is None:
            return "an integer"
        return f"an integer from {self.bounds.start} to {self.bounds.stop - 1}"


def declared(hints: Mapping[str, object], values: Mapping[str, object]) -> dict[str, Constant]:
    """The constants among the annotations of a class, with the values that the class gives them."""
    out: dict[str, Constant] = {}
    for name, hint in hints.items():
        bare, *extra = (
            typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
        )
        if bare is not int and bare is not bool:
            continue
        if name not in values:
            raise SpecError(
                f"the constant {name} has no default: write {name}: {bare.__name__} = ..."
            )
        bounds = next((x for x in extra if isinstance(x, range)), None)
        default = values[name]
        constant = Constant(
            name=name, type=bare, default=typing.cast("Value", default), bounds=bounds
        )
        constant.check("the default", default)
        out[name] = constant
    return out


def check(spec: str, known: Mapping[str, Constant], given: Mapping[str, object]) -> None:
    """Raises SpecError for a name that the spec has not, or a value that it does not take."""
    for name, value in given.items():
        if name not in known:
            raise SpecError(f"{spec} has no constant {name!r}; the nearest: {nearest(name, known)}")
        known[name].check(spec, value)
