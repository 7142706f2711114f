"""Loads the specs in a user's .py file. Commands accept the path of such a file in place of the
name of a spec.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from model.language import Spec, SpecError
from model.variants import Variant


def load(path: Path) -> tuple[Variant, ...]:
    """Returns the specs that a Python file defines, in the order of the file. Each spec is a
    variant, and the last spec in the file is the default variant.

    Raises SpecError if the file is missing, fails when it runs, or defines no spec.
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
    """Returns the words of a class name in lower case, joined by dashes: `TwoPhaseCommit` becomes
    `two-phase-commit`.
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _run(path: Path) -> ModuleType:
    name = f"spec_of_user_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or found is None or found.loader is None:
        raise SpecError(f"no file {path}\n  name a spec of `urteil list`, or a .py file with one")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # the spec's annotations are resolved there
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise _at_its_line(path, error) from error
    return module


def read_whole(variant: Variant, spec: Spec) -> None:
    """Evaluates every action and every property of a user's spec once, to find its mistakes before
    a check begins. Does nothing if the spec is not the spec of a user.

    Raises SpecError for a mistake. A Python error in the user's file becomes a SpecError that names
    the line.
    """
    if not variant.spec.endswith(".py"):
        return
    try:
        spec.check_scope()
        _ = spec.initial, spec.actions, spec.claims, spec.witnesses
        _ = spec.action_properties, spec.liveness_properties
        spec.check_replaced()
    except Exception as error:
        raise _at_its_line(Path(variant.spec), error) from error


def _at_its_line(path: Path, error: Exception) -> SpecError:
    if isinstance(error, SpecError) and error.line:
        return SpecError(f"{path}:{error.line}: {error.where}: {error.mistake}")
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename).resolve() == path.resolve()]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    place = f"{path}:{line}" if line else str(path)
    kind = "" if isinstance(error, SpecError) else f"{type(error).__name__}: "
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return SpecError(f"{place}: {kind}{error.msg}")  # without the line, which `place` has
    return SpecError(f"{place}: {kind}{error}")
