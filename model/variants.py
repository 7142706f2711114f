"""Variants of a spec: versions of the protocol as it was, and bugs.

A *version* is the protocol at some time; it may hold, and one of them is the default. A *bug*
replaces one action or guard; some property catches it. Each row says what breaks, and a scope
that shows it. The rows of a spec stand beside it, in its `variants.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from model.language import Spec
from model.language.spec import entitled

Kind = Literal["version", "bug"]
Constants = Mapping[str, int | bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One row: a spec as it was at some time, or with one thing wrong."""

    name: str
    spec: str
    kind: Kind
    cls: type[Spec]
    breaks: str | None = None  # the property that fails first; None where all hold
    steps: int | None = None  # of its shortest counterexample at `see`
    see: Constants = field(default_factory=dict)  # constants at which it shows
    default: bool = False
    id: str = ""  # in the catalogue of bugs: R6
    known_as: str = ""  # where it was reported or mended: KAFKA-7128
    mended: str | None = None  # the variant in which it is mended; None for the spec's default

    @property
    def says(self) -> str:
        """What this variant is: the first line of its docstring."""
        return (inspect.getdoc(self.cls) or "").split("\n")[0]

    @property
    def tells(self) -> str:
        """How it happens and what fails: the rest of its docstring."""
        return " ".join((inspect.getdoc(self.cls) or "").split("\n", 1)[1:]).strip()

    def make(self, constants: Constants | None = None) -> Spec:
        """The spec with these constants; raises SpecError for one that it has not."""
        spec = self.spec if not self.spec.endswith(".py") else Path(self.spec).name
        return entitled(self.cls, f"{spec} {self.name}", constants or {})
