"""Docstrings of specs mention the same counterexamples as the table of variants."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from model.language import Spec
from model.specs import SPECS, find, variants_of

NAMED = re.compile(
    r"(?<!action )`([a-z0-9-]+)`,? (?:it )?(?:uses \w+ and )?"
    r"(?:fails|breaks the claim) `?(\w+)`?(?: in (\d+) steps)?"
)
RULE = re.compile(
    r"`(\w+)` (?:breaks|would break) \((bug|version) `([a-z0-9.-]+)`(?:, (\d+) steps?)?"
)
SHORT = re.compile(r"`([a-z0-9-]+)`(?: \((\w+)\))?, (\d+) steps")


def docstrings(spec: str) -> Iterator[str]:
    package = import_module(f"model.{spec.replace('-', '_')}")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = import_module(found.name)
        yield " ".join((inspect.getdoc(module) or "").split())
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, Spec) and cls.__module__ == found.name:
                for member in (cls, *vars(cls).values()):
                    yield " ".join((inspect.getdoc(member) or "").split())


@pytest.mark.parametrize("spec", SPECS)
def test_every_counterexample_in_a_docstring_is_the_variants(spec: str) -> None:
    known = {row.name for row in variants_of(spec)}
    for text in docstrings(spec):
        for name, claim, steps in NAMED.findall(text):
            row = find(spec, name)
            assert name in known
            assert row.breaks == claim or claim in row.explanation, text
            assert steps in {"", str(row.steps)} or row.breaks != claim, text
        for claim, kind, name, steps in RULE.findall(text):
            row = find(spec, name)
            assert row.kind == kind, text
            assert row.breaks == claim or claim in row.explanation, text
            assert steps in {"", str(row.steps)} or row.breaks != claim, text
        for name, _, steps in SHORT.findall(text):
            assert steps == str(find(spec, name).steps), text


def test_docstrings_name_the_counterexamples_of_most_bugs() -> None:
    named, rows = set[tuple[str, str]](), [v for spec in SPECS for v in variants_of(spec)]
    for spec in SPECS:
        for text in docstrings(spec):
            named |= {(spec, name) for name in re.findall(r"`([a-z0-9-]+)`", text)}
    bugs = {(row.spec, row.name) for row in rows if row.kind == "bug"}
    assert len(bugs & named) >= 0.9 * len(bugs), sorted(bugs - named)
