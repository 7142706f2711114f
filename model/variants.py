"""Variants of a spec: versions of the protocol, and bugs.

A *version* is the protocol of some Kafka releases. One version of each spec is the default. A *bug*
is a class that replaces one action or guard, so that a claim fails. The decorator of a bug names
the claim (`breaks`), the number of steps to a violation, the constants at which these steps are
possible (`at`), the variant with the fix, and the Kafka releases that have the bug (`in_force`):

    @bug("joins-before-epoch", breaks="strong_isr", steps=11, at={"max_leader_epoch": 2},
         fixed_by="kip-320", issue="KAFKA-7128", in_force=kafka("0.8", "2.0.0"))
    class JoinsBeforeEpoch(Kip320):
        ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal, Required, TypedDict, TypeVar, Unpack

from model.language import Spec
from model.language.spec import with_title
from model.releases import InForce

Kind = Literal["version", "bug"]
Constants = Mapping[str, int | bool]
S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A version or a bug of a spec: its class, and the arguments of its decorator."""

    name: str
    spec: str
    kind: Kind
    cls: type[Spec]
    in_force: InForce | None = None  # None: the spec of a user
    breaks: str | None = None  # the claim that fails first; None where all claims hold
    steps: int | None = None  # of the shortest counterexample to that claim at the constants `at`
    at: Constants = field(default_factory=dict)  # constants at which the claim fails
    default: bool = False
    issue: str = ""  # where it was reported or fixed: KAFKA-7128
    fixed_by: str | None = None  # the variant that fixes it; None for the spec's default

    @property
    def summary(self) -> str:
        """The first paragraph of the class's own docstring, on one line. It is empty if the class
        has no docstring.
        """
        return " ".join(inspect.cleandoc(self.cls.__doc__ or "").split("\n\n")[0].split())

    @property
    def explanation(self) -> str:
        """The class's own docstring without its first paragraph, on one line."""
        _, _, rest = inspect.cleandoc(self.cls.__doc__ or "").partition("\n\n")
        return " ".join(rest.split())

    def make(self, constants: Constants | None = None) -> Spec:
        """Returns an instance of the spec's class with these values of its constants. The other
        constants have their default values.

        Raises SpecError for an unknown constant, or for a value that the constant does not allow.
        """
        spec = self.spec if not self.spec.endswith(".py") else Path(self.spec).name
        return with_title(self.cls, f"{spec} {self.name}", constants or {})


class Record(TypedDict, total=False):
    """The keyword arguments of `@version` and `@bug`. Each argument becomes the field of `Variant`
    with the same name.
    """

    in_force: Required[InForce]
    breaks: str
    steps: int
    at: Constants
    default: bool
    issue: str
    fixed_by: str


_RECORDED: dict[type[Spec], Variant] = {}


def version(name: str, **record: Unpack[Record]) -> Callable[[type[S]], type[S]]:
    """Returns a decorator that marks a class as a version of its spec. The keyword arguments become
    fields of the class's `Variant`.
    """
    return _recorded(name, "version", record)


def bug(name: str, **record: Unpack[Record]) -> Callable[[type[S]], type[S]]:
    """Returns a decorator that marks a class as a bug of its spec. The keyword arguments become
    fields of the class's `Variant`.
    """
    return _recorded(name, "bug", record)


def _recorded(name: str, kind: Kind, record: Record) -> Callable[[type[S]], type[S]]:
    def decorate(cls: type[S]) -> type[S]:
        _RECORDED[cls] = Variant(name=name, spec=_spec_of(cls), kind=kind, cls=cls, **record)
        return cls

    return decorate


def variants_in(*modules: ModuleType) -> tuple[Variant, ...]:
    """Returns the variants that the modules define, in the order of the modules. The variants of
    one module are in the order of its lines.
    """
    return tuple(
        _RECORDED[value]
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value in _RECORDED and value.__module__ == module.__name__
    )


def _spec_of(cls: type[Spec]) -> str:
    return cls.__module__.split(".")[1].replace("_", "-")
