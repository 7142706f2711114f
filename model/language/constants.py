"""The constants of a spec: their names, types, defaults and ranges.

`replicas: Annotated[int, range(1, 10)] = 3` declares an integer from 1 to 9 with the default 3. If
the annotation has no range, only the type of a value is checked.
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
    """A constant of a spec. `bounds` is the range of the permitted integers, or None if every value
    of the type is permitted.
    """

    name: str
    type: type
    default: Value
    bounds: range | None = None

    def check(self, spec: str, value: object) -> None:
        if type(value) is not self.type or (self.bounds is not None and value not in self.bounds):
            raise SpecError(f"{spec}: {self.name} is {self._wanted()}, not {value!r}")

    def _wanted(self) -> str:
        if self.type is bool:
            return "true or false"
        if self.bounds is None:
            return "an integer"
        return f"an integer from {self.bounds.start} to {self.bounds.stop - 1}"


def declared(hints: Mapping[str, object], values: Mapping[str, object]) -> dict[str, Constant]:
    out: dict[str, Constant] = {}
    for name, hint in hints.items():
        bare, *extra = (
            typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
        )
        if bare is not int and bare is not bool:
            continue
        bounds = next((x for x in extra if isinstance(x, range)), None)
        default = values[name]
        constant = Constant(
            name=name, type=bare, default=typing.cast("Value", default), bounds=bounds
        )
        constant.check("the default", default)
        out[name] = constant
    return out


def check(spec: str, constants: Mapping[str, Constant], values: Mapping[str, object]) -> None:
    """Checks the values of a spec's constants. Raises SpecError for an unknown name, a value of
    another type, or a value out of range. `spec` is the name of the spec in the message.
    """
    for name, value in values.items():
        if name not in constants:
            raise SpecError(
                f"{spec} has no constant {name!r}; the nearest: {nearest(name, constants)}"
            )
        constants[name].check(spec, value)
