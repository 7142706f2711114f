"""Variants of a spec: versions of the protocol, and bugs.

A *version* is the protocol of some Kafka releases; one version of each spec is the default. A *bug*
is a class that replaces one action or guard, so that a claim fails. Its decorator names the claim
(`breaks`), the steps to a violation, the constants of that run (`at`), the fix, and the releases
that have the bug (`in_force`):

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
    """A version or a bug of a spec: its class, and the facts of its decorator."""

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
        """The first paragraph of the class's own docstring, on one line."""
        return " ".join(inspect.cleandoc(self.cls.__doc__ or "").split("\n\n")[0].split())

    @property
    def explanation(self) -> str:
        """The class's docstring without its first paragraph."""
        _, _, rest = inspect.cleandoc(self.cls.__doc__ or "").partition("\n\n")
        return " ".join(rest.split())

    def make(self, constants: Constants | None = None) -> Spec:
        """Raises SpecError for an unknown constant."""
        spec = self.spec if not self.spec.endswith(".py") else Path(self.spec).name
        return with_title(self.cls, f"{spec} {self.name}", constants or {})


class Record(TypedDict, total=False):
    """The keyword arguments of `@version` and `@bug`; each becomes a field of `Variant`."""

    in_force: Required[InForce]
    breaks: str
    steps: int
    at: Constants
    default: bool
    issue: str
    fixed_by: str


_RECORDED: dict[type[Spec], Variant] = {}


def version(name: str, **record: Unpack[Record]) -> Callable[[type[S]], type[S]]:
    """Marks a class as a version of its spec; the keywords become fields of its `Variant`."""
    return _recorded(name, "version", record)


def bug(name: str, **record: Unpack[Record]) -> Callable[[type[S]], type[S]]:
    """Marks a class as a bug of its spec; the keywords become fields of its `Variant`."""
    return _recorded(name, "bug", record)


def _recorded(name: str, kind: Kind, record: Record) -> Callable[[type[S]], type[S]]:
    def decorate(cls: type[S]) -> type[S]:
        _RECORDED[cls] = Variant(name=name, spec=_spec_of(cls), kind=kind, cls=cls, **record)
        return cls

    return decorate


def variants_in(*modules: ModuleType) -> tuple[Variant, ...]:
    """Returns the variants that the modules define, in the order of modules and source lines."""
    return tuple(
        _RECORDED[value]
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value in _RECORDED and value.__module__ == module.__name__
    )


def _spec_of(cls: type[Spec]) -> str:
    return cls.__module__.split(".")[1].replace("_", "-")
