"""Counts the calls of a mutated function, and how many of them end in the same exception.

If each call that runs the changed statement ends in the same exception, no assertion can see the
mutant: no value comes back that a test could compare.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

REPORTS: Final = "__urteil_calls__"  # a builtin, so that each module finds it
RAN: Final = "__urteil_ran__"  # local variables of the changed function
ERROR: Final = "__urteil_error__"


@dataclass(slots=True)
class Calls:
    """The calls that ran the changed statement, and the exceptions that ended them."""

    ran: int = 0
    exceptions: Counter[str] = field(default_factory=Counter[str])

    def install(self) -> None:
        """Lets this object receive the reports of the functions that `counting` has changed."""
        setattr(builtins, REPORTS, self)

    def end(self, exception: BaseException | None) -> None:
        self.ran += 1
        if exception is not None:
            self.exceptions[type(exception).__name__] += 1

    @property
    def raised(self) -> int:
        """The number of calls that ended in the most frequent exception."""
        return max(self.exceptions.values(), default=0)


def counting(source: bytes, line: int) -> ast.Module:
    """Returns the module, in which the innermost function around the line reports its calls.

    A call is reported at its end if it has run the statement at the line. If the line is in no
    function, no call is reported.
    """
    tree = ast.parse(source)
    # The walk comes to outer statements before inner ones.
    around = [it for it in ast.walk(tree) if isinstance(it, ast.stmt) and _has(it, line)]
    functions = [it for it in around if isinstance(it, ast.FunctionDef)]
    if functions and around[-1] is not functions[-1]:
        _insert_before(around[-1], f"{RAN} = True", tree)
        report = ast.parse(
            f"{RAN} = False\n"
            "try: pass\n"
            f"except Exception as {ERROR}:\n"
            f" if {RAN}: {REPORTS}.end({ERROR})\n"
            f" {RAN} = False\n"
            " raise\n"
            f"finally:\n if {RAN}: {REPORTS}.end(None)"
        ).body
        assert isinstance(report[1], ast.Try)
        report[1].body, functions[-1].body = functions[-1].body, report
    return ast.fix_missing_locations(tree)


def _has(node: ast.stmt, line: int) -> bool:
    return node.end_lineno is not None and node.lineno <= line <= node.end_lineno


def _insert_before(statement: ast.stmt, text: str, tree: ast.Module) -> None:
    for node in ast.walk(tree):
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and statement in body:
                body.insert(body.index(statement), *ast.parse(text).body)
                return
