"""Finds a mistake that types cannot find: `&` and `|` bind tighter than `==` and `<`.

Python reads `s.begun[x] == s.done[x] & s.known[x]` as `==` with a conjunction on its right. If all
three terms are formulas, all types are correct. So this check parses the source text.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

from model.language.expressions import SpecError

_checked: set[type] = set()


def check(cls: type) -> None:
    """Raises SpecError if an operand of a comparison contains `&` or `|` outside parentheses."""
    if cls in _checked:
        return
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):  # a class made at a prompt has no source
        return
    source = textwrap.dedent("".join(lines))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            _check_comparison(cls, node, source, first)
    _checked.add(cls)


def _check_comparison(cls: type, comparison: ast.Compare, source: str, first: int) -> None:
    operands = [comparison.left, *comparison.comparators]
    for left, right in pairwise(operands):
        between = _text_between(source, left, right)
        bare_left = _joins(left) and ")" not in between
        bare_right = _joins(right) and "(" not in between
        if bare_left or bare_right:
            text = " ".join((ast.get_source_segment(source, comparison) or "").split())
            raise SpecError.at(
                cls.__name__,
                first + comparison.lineno - 1,
                f"{text}\n  & and | bind tighter than a comparison: write all_of(..., ...), or"
                " parentheses",
            )


def _joins(operand: ast.expr) -> bool:
    return isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.BitAnd | ast.BitOr)


def _text_between(source: str, left: ast.expr, right: ast.expr) -> str:
    lines = source.splitlines(keepends=True)
    start = _offset(lines, left.end_lineno or 0, left.end_col_offset or 0)
    return source.encode()[start : _offset(lines, right.lineno, right.col_offset)].decode()


def _offset(lines: list[str], line: int, column: int) -> int:
    return sum(len(x.encode()) for x in lines[: line - 1]) + column
