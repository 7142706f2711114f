"""The table of specs, and of the variants of each: versions of the protocol as it was, and bugs.

A *version* is the protocol at some time; it may hold, and one of them is the default. A *bug*
replaces one action or guard; some property catches it. Each row says what breaks, and a scope
that shows it.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal

from model.faults import UnknownName
from model.idempotence import IdempotentProducer
from model.idempotence_bugs import AnyEpoch, AnySequence, UncleanElection
from model.language import Scope, Spec, SpecError
from model.replication import TruncateToHighWatermark
from model.replication_abstract_bugs import (
    CutsAtHighWatermark,
    JoinsAtHighWatermark,
    LosesItsTail,
)
from model.replication_bugs import CountsOldEpochs, JoinsBeforeEpoch, TruncatesEarly
from model.replication_proof import ReplicationProof
from model.replication_versions import Kip101, Kip279, Kip320, Kip320FirstTry
from model.transactions import Transactions
from model.transactions_versions import LaxMarkers, Version1

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

    @property
    def says(self) -> str:
        """What this variant is: the first line of its docstring."""
        return (inspect.getdoc(self.cls) or "").split("\n")[0]

    def make(self, constants: Constants | None = None) -> Spec:
        """The spec with these constants; raises SpecError for one that it has not."""
        return self.cls(**(constants or {}))


def _holds(spec: str, name: str, cls: type[Spec]) -> Variant:
    return Variant(name=name, spec=spec, kind="version", cls=cls, default=True)


def _fails(
    spec: str, kind: Kind, name: str, cls: type[Spec], breaks: str, steps: int, **see: int
) -> Variant:
    return Variant(name=name, spec=spec, kind=kind, cls=cls, breaks=breaks, steps=steps, see=see)


TWO_BROKERS = {"replicas": 2, "max_leader_epoch": 2}

THREE_EPOCHS = {"max_leader_epoch": 2}
TWO_EPOCHS = {"leader_epochs": 2}
COMMITTED = "isr_has_what_is_committed"

_R, _A, _T, _I = "replication", "replication-abstract", "transactions", "idempotence"

VARIANTS: tuple[Variant, ...] = (
    _fails(_R, "version", "truncate-to-hw", TruncateToHighWatermark, "weak_isr", 8, **TWO_BROKERS),
    _fails(_R, "version", "kip-101", Kip101, "strong_isr", 11, **TWO_BROKERS),
    _fails(_R, "version", "kip-279", Kip279, "strong_isr", 10, **THREE_EPOCHS),
    _fails(_R, "version", "kip-320-first-try", Kip320FirstTry, "strong_isr", 12, **THREE_EPOCHS),
    _fails(_R, "bug", "counts-old-epochs", CountsOldEpochs, "strong_isr", 12, **THREE_EPOCHS),
    _fails(_R, "bug", "truncates-early", TruncatesEarly, "strong_isr", 13, **THREE_EPOCHS),
    _fails(_R, "bug", "joins-before-epoch", JoinsBeforeEpoch, "strong_isr", 11, **THREE_EPOCHS),
    _holds(_R, "kip-320", Kip320),
    _fails(_A, "bug", "cuts-at-hw", CutsAtHighWatermark, COMMITTED, 6, **TWO_EPOCHS),
    _fails(_A, "bug", "joins-at-hw", JoinsAtHighWatermark, COMMITTED, 9, **TWO_EPOCHS),
    _fails(_A, "bug", "loses-its-tail", LosesItsTail, COMMITTED, 5, **TWO_EPOCHS),
    _holds(_A, "kip-497", ReplicationProof),
    _fails(_T, "version", "v1", Version1, "no_hanging_transaction", 6),
    _fails(_T, "bug", "lax-markers", LaxMarkers, "faithful", 9),
    _holds(_T, "v2", Transactions),
    _fails(_I, "bug", "any-sequence", AnySequence, "in_order_without_duplicates", 2),
    _fails(_I, "bug", "any-epoch", AnyEpoch, "epochs_do_not_go_back", 2),
    _fails(_I, "bug", "unclean-election", UncleanElection, "acknowledged_is_durable", 5),
    _holds(_I, "kip-360", IdempotentProducer),
)  # fmt: skip

SPECS: tuple[str, ...] = tuple(dict.fromkeys(v.spec for v in VARIANTS))


def variants_of(spec: str) -> tuple[Variant, ...]:
    """The variants of a spec, oldest first; a spec is a name of the table or a path to a .py file.

    Raises UnknownName for a name that the table has not, SpecError for a file that cannot be read.
    """
    if spec.endswith(".py"):
        return load(Path(spec))
    if spec not in SPECS:
        raise UnknownName("spec", spec, SPECS)
    return tuple(v for v in VARIANTS if v.spec == spec)


def find(spec: str, variant: str | None = None) -> Variant:
    """The variant of this name, or the spec's default.

    Raises UnknownName, which lists the nearest three.
    """
    known = variants_of(spec)
    for row in known:
        if row.name == variant or (variant is None and row.default):
            return row
    raise UnknownName(f"variant of {spec}", str(variant), [v.name for v in known])


# ---- specs of users


def load(path: Path) -> tuple[Variant, ...]:
    """The specs that a Python file defines, in its order; the last is the default.

    Raises SpecError for a file that is missing, that fails when it is run, or that defines no spec.
    """
    module = _run(path)
    classes = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Spec) and c.__module__ == module.__name__
    ]
    if not classes:
        raise SpecError(
            f"{path} defines no spec\n  a spec is a class that inherits from model.language.Spec"
        )
    return tuple(
        Variant(
            name=dashed(c.__name__),
            spec=str(path),
            kind="version",
            cls=c,
            default=c is classes[-1],
        )
        for c in classes
    )


def dashed(name: str) -> str:
    """`TwoPhaseCommit` as it is written on a command line: `two-phase-commit`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _run(path: Path) -> ModuleType:
    name = f"spec_of_user_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or found is None or found.loader is None:
        raise SpecError(f"no file {path}\n  name a spec of `urteil list`, or a .py file with one")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # annotations are looked up there when the spec is read
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise _told(path, error) from error
    return module


def read_whole(variant: Variant, spec: Spec) -> None:
    """Traces all that a user's spec says; a failure of its Python is a SpecError at its line.

    The specs of the table are ours: what fails in them is our bug.
    """
    if not variant.spec.endswith(".py"):
        return
    try:
        _ = spec.scope(), spec.initial, spec.actions, spec.claims, spec.witnesses
    except Exception as error:
        raise _told(Path(variant.spec), error) from error


def _told(path: Path, error: Exception) -> SpecError:
    """The error at the last line of the file that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename).resolve() == path.resolve()]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    place = f"{path}:{line}" if line else str(path)
    kind = "" if isinstance(error, SpecError) else f"{type(error).__name__}: "
    return SpecError(f"{place}: {kind}{error}")


__all__ = [
    "SPECS",
    "VARIANTS",
    "Constants",
    "Scope",
    "Variant",
    "find",
    "load",
    "read_whole",
    "variants_of",
]
