"""Finds the lines of a spec that judge it. They are not mutated.

A claim, a lemma and a witness judge the actions of a spec, and a bug is a mutant itself. The
following lines judge a spec:

- a method with one of the decorators in `CLAIMS`
- a class with the decorator `bug`
- a class with claims that has no action and is no version: its other methods serve the claims
- a module of such classes alone
- a module that imports nothing of `model`: a table of results, or of lemmas that suffice
"""

from __future__ import annotations

import ast
from typing import Final

CLAIMS: Final = frozenset({"invariant", "action_property", "liveness", "witness", "lemma"})


def judging_lines(source: bytes) -> frozenset[int]:
    """Returns the numbers of the lines in a module of a spec that judge the spec: its claims,
    lemmas and bugs. `source` is the module.
    """
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if all(map(_judges, classes)) or not _imports_model(tree):
        return frozenset(range(1, source.count(b"\n") + 2))
    nodes = (it for one in classes for it in ([one] if _judges(one) else _claims(one)))
    return frozenset(line for node in nodes for line in _lines(node))


def _imports_model(tree: ast.Module) -> bool:
    names = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    return any(name.startswith("model.") for name in names)


def _judges(one: ast.ClassDef) -> bool:
    kinds = _decorators(one)
    acts = any("action" in _decorators(it) for it in _methods(one))
    return "bug" in kinds or bool(_claims(one) and not acts and "version" not in kinds)


def _claims(one: ast.ClassDef) -> list[ast.FunctionDef]:
    return [it for it in _methods(one) if _decorators(it) & CLAIMS]


def _methods(one: ast.ClassDef) -> list[ast.FunctionDef]:
    return [it for it in one.body if isinstance(it, ast.FunctionDef)]


def _decorators(node: ast.ClassDef | ast.FunctionDef) -> set[str]:
    calls = (it.func if isinstance(it, ast.Call) else it for it in node.decorator_list)
    return {ast.unparse(it) for it in calls}


def _lines(node: ast.ClassDef | ast.FunctionDef) -> range:
    assert node.end_lineno is not None
    return range(node.lineno, node.end_lineno + 1)
