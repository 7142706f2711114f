"""Finds a mistake in specs that the types of Python do not reveal: `&` and `|` bind tighter than
`==` and `<`.

Python reads `s.begun[x] == s.done[x] & s.known[x]` as a comparison whose right side is a
conjunction, and all types are correct. So this check parses the source text.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from itertools import pairwise

from model.language.expressions import SpecError

_checked: set[type] = set()


def check(cls: type) -> None:
    """Raises SpecError if, in the source of the class, an operand of a comparison is a `&` or `|`
    that is not in parentheses.
    """
    if cls in _checked:
        return
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):  # a class made at a prompt has no source
        return
    source = textwrap.dedent("".join(lines))

    def located(comparison: ast.Compare, mistake: str) -> SpecError:
        return SpecError.at(cls.__name__, first + comparison.lineno - 1, mistake)

    check_expression(ast.parse(source), source, located)
    _checked.add(cls)


def check_expression(
    tree: ast.AST, source: str, located: Callable[[ast.Compare, str], Exception]
) -> None:
    """Raises an error if an operand of a comparison is a `&` or `|` that is not in parentheses.
    `located` makes the error.

    The arguments of `located` are the first such comparison and a description of the mistake.
    `source` is the text from which `tree` was parsed.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            _check_comparison(node, source, located)


def _check_comparison(
    comparison: ast.Compare, source: str, located: Callable[[ast.Compare, str], Exception]
) -> None:
    operands = [comparison.left, *comparison.comparators]
    for left, right in pairwise(operands):
        between = _text_between(source, left, right)
        bare_left = _joins(left) and ")" not in between
        bare_right = _joins(right) and "(" not in between
        if bare_left or bare_right:
            text = " ".join((ast.get_source_segment(source, comparison) or "").split())
            raise located(
                comparison,
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
