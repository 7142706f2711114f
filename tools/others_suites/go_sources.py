"""Removes the tests of a Go package that do not compile, and reports the names that they need.

Every top-level declaration with an error is removed, and the suite is compiled again, until there
are no more errors.

The module assumes that gofmt formatted the sources: a declaration ends at the first line that
begins with a closing bracket.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BEGINS: Final = re.compile(r"(?:func (?:\(\w* ?\*?(\w+)(?:\[.*?\])?\) )?|type |var |const )(\w*)")
_ERROR: Final = re.compile(r"^(\S+\.go):(\d+):\d+: (.*)$", re.M)
_MISSING: Final = re.compile(r"undefined: (?:\w+\.)?(\w+)|has no field or method (\w+)")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A top-level declaration: its names, and the numbers of its lines, counted from 0."""

    names: tuple[str, ...]
    first: int
    after: int  # the line after its last one


def declarations(text: str) -> list[Declaration]:
    lines = text.split("\n")
    found: list[Declaration] = []
    for first, line in enumerate(lines):
        begins = _BEGINS.match(line)
        if begins is None:
            continue
        after = first + 1
        if line.endswith(("{", "(")):
            while not lines[after].startswith(("}", ")")) or lines[after].endswith(("{", "(")):
                after += 1
            after += 1
        name = begins[2]
        if name:
            names: tuple[str, ...] = (name,)
        else:  # a block of variables or constants
            words = (re.match(r"\t(\w+)", one) for one in lines[first + 1 : after - 1])
            names = tuple(word[1] for word in words if word)
        found.append(Declaration(names=names, first=first, after=after))
    return found


def without(text: str, declaration: Declaration) -> str:
    """Removes a declaration from a Go source. Blank lines take its place, so that line numbers do
    not change.
    """
    lines = text.split("\n")
    lines[declaration.first : declaration.after] = [""] * (declaration.after - declaration.first)
    return "\n".join(lines)


def reaching(texts: Iterable[str], targets: Sequence[str]) -> set[str]:
    """Returns the test functions that use one of the names in `targets`, directly or indirectly."""
    needs: dict[str, set[str]] = {}
    for text in texts:
        lines = text.split("\n")
        for one in declarations(text):
            words = set(_WORD.findall("\n".join(lines[one.first : one.after])))
            for name in one.names:
                needs.setdefault(name, set()).update(words - {name})
    found = set(targets)
    while more := {name for name, words in needs.items() if name not in found and words & found}:
        found |= more
    return {name for name in found if is_test(name)}


def is_test(name: str) -> bool:
    """Returns True if `go test` runs a function of this name."""
    return re.match(r"Test(?![a-z])", name) is not None


def prune(folder: Path, compile_it: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Removes the declarations that do not compile. Returns, for each removed test, the sorted
    names that are undefined.

    Raises ValueError if a compiler error is outside of all declarations.
    """
    missing: dict[str, set[str]] = {}
    while True:
        ended = subprocess.run(compile_it, cwd=folder, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            break
        errors = _ERROR.findall(ended.stdout + ended.stderr)
        if not errors:
            raise ValueError(f"{folder.name} does not compile: {ended.stderr[-2000:]}")
        _remove(folder, errors, missing)
    return {name: tuple(sorted(names)) for name, names in missing.items() if is_test(name)}


def _remove(
    folder: Path, errors: Sequence[tuple[str, str, str]], missing: dict[str, set[str]]
) -> None:
    by_file: dict[str, list[tuple[int, str]]] = {}
    for file, number, message in errors:
        by_file.setdefault(Path(file).name, []).append((int(number) - 1, message))
    removed: list[tuple[Declaration, set[str]]] = []
    for file, found in by_file.items():
        text = (folder / file).read_text(encoding="utf-8")
        places = declarations(text)
        for line, message in found:
            if "imported and not used" in message:
                lines = text.split("\n")
                lines[line] = ""
                text = "\n".join(lines)
                continue
            at = [one for one in places if one.first <= line < one.after]
            if not at:
                raise ValueError(f"{file}:{line + 1}: {message}")
            removed.append((at[0], missed(message)))
            text = without(text, at[0])
        (folder / file).write_text(text, encoding="utf-8")
    known = dict(missing)
    for declaration, names in removed:
        causes = set[str]()
        for name in names:
            causes |= known.get(name, {name})
        for name in declaration.names:
            missing.setdefault(name, set()).update(causes)


def missed(message: str) -> set[str]:
    """Returns the undefined name in a compiler's message. The result is empty for an error of
    another kind.
    """
    return {name for pair in _MISSING.findall(message) for name in pair if name}
