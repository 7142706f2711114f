"""Traces an action: records its reads, guards and assignments as data.

A read always returns the value before the action. If an action reads a variable after it has
assigned the variable, tracing raises an error, because the read would seem to return the new value.
If an action assigns a variable twice with the same keys, the later assignment wins.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType

from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.expressions import (
    Bool,
    SpecError,
    conjunction,
    formula,
    line_in_action,
    open_loops,
    tracing,
)
from model.language.names import collecting_names


class Recorder:
    def __init__(self) -> None:
        self.action: Action | None = None

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node:
        """Returns the term that reads the variable at these keys. Raises SpecError if the action
        has already assigned the variable.
        """
        action = self.action
        written = [w for w in action.writes if w.variable == variable] if action else []
        if action is not None and written:
            raise SpecError(
                f"reads {variable.name} after assigning it in line {written[0].line}\n"
                "  an action reads the state before it: bind the value to a name above the"
                " assignment; a record or a map is a view, and each use reads it again: bind its"
                " fields, or assign this variable last"
            )
        return t.Get(variable, keys)

    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None:
        """Records an assignment of the traced action. If the assignment is inside a `for` loop, it
        is recorded once for all elements of the loop.

        Raises SpecError outside an action, or if the keys do not contain the loop's element.
        """
        if self.action is None:
            raise SpecError(
                f"a predicate assigns {variable.name}\n  only actions and init may assign"
            )
        for b, _ in open_loops:
            if not any(k is b for k in keys):
                raise SpecError(
                    f"inside `for {b.name} in {b.sort.name}`, {variable.name} is assigned at a cell"
                    f" that does not depend on {b.name}\n  every {b.sort.name} would assign it at"
                    f" once: index the assigned variable with {b.name}"
                )
        ranges = tuple(c for _, c in open_loops if not isinstance(c, t.Const))
        self.action.writes.append(
            t.Write(
                variable=variable,
                keys=keys,
                binders=tuple(b for b, _ in open_loops),
                condition=conjunction(ranges),
                value=value,
                line=line_in_action(),
            )
        )

    @contextmanager
    def recording(self, action: Action, code: CodeType) -> Generator[None]:
        """While the context is open, each executed guard and assignment is added to `action`.
        `code` is the code of the action's method.
        """
        self.action = action
        _traced.append(action)
        tracing.append(code)
        try:
            with collecting_names(action.names):
                yield
        finally:
            _traced.pop()
            tracing.pop()
            open_loops.clear()
            self.action = None


class After:
    """The object that an action property gets as its parameter `after`. Its attributes are the
    variables in the state after a step.
    """

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node:
        return t.Get(variable.after, keys)

    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None:
        raise SpecError(
            f"an action property assigns {variable.name}\n  only actions and init may assign"
        )


_traced: list[Action] = []  # the action being traced


def when(*conjuncts: Bool) -> None:
    """Adds guards to the traced action: it is enabled only if every conjunct is true. The conjuncts
    are tested from left to right.

    Raises SpecError outside an action, or inside a `for` loop.
    """
    if not _traced:
        raise SpecError("when(...) outside an action\n  only an action or init has a guard")
    action = _traced[-1]
    if open_loops:
        raise SpecError("when(...) inside a `for`\n  write when(forall(... for ...))")
    for c in map(formula, conjuncts):
        action.guards.append(Guard(c.node, c.line, action.names))
