"""One tracing of an action: what it reads, asks for and assigns becomes data.

An action reads the state before it. To read a variable that the same action has assigned would look
like the state after, so it is refused, whether by its name or through a view taken earlier. The
order of assignments therefore never matters to a reader; of two to one cell the later wins.
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
from model.language.names import noted


class Recorder:
    """Where the reads and writes of a spec go; outside an action only reads are possible."""

    def __init__(self) -> None:
        self.action: Action | None = None

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node:
        action = self.action
        written = [w for w in action.writes if w.variable == variable] if action else []
        if action is not None and written:
            raise SpecError(
                f"{action.name}, line {line_in_action()}, reads {variable.name}"
                f" after assigning it in line {written[0].line}\n"
                "  an action reads the state before it: bind the value to a name above the"
                " assignment; a record or a map is a view, read where it is used: read its fields,"
                " not the whole, or assign this variable last"
            )
        return t.Get(variable, keys)

    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None:
        if self.action is None:
            raise SpecError(f"a predicate assigns {variable.name}; only actions and init may")
        for b, _ in open_loops:
            if not any(k is b for k in keys):
                raise SpecError(
                    f"{self.action.name}, line {line_in_action()}: inside `for {b.name} in"
                    f" {b.sort.name}`, {variable.name} is assigned at a place that does not depend"
                    f" on {b.name}\n  every {b.sort.name} would assign it at once: index the"
                    f" assigned place with {b.name}"
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
        """While it is open, what the spec does is entered into the action."""
        self.action = action
        _traced.append(action)
        tracing.append(code)
        try:
            with noted(action.names):
                yield
        finally:
            _traced.pop()
            tracing.pop()
            open_loops.clear()
            self.action = None


class After:
    """Where the reads of the state after a step go, in a claim about steps."""

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...]) -> t.Node:
        return t.Get(variable.after, keys)

    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None:
        raise SpecError(f"a claim about steps assigns {variable.name}; only actions and init may")


_traced: list[Action] = []  # the action being traced


def when(*conjuncts: Bool) -> None:
    """The action may happen only where every conjunct is true; tested from left to right."""
    if not _traced:
        raise SpecError("when(...) belongs into an action")
    action = _traced[-1]
    line = line_in_action()
    if open_loops:
        raise SpecError(
            f"{action.name}, line {line}: when(...) in a for: write when(forall(... for ...))"
        )
    for c in map(formula, conjuncts):
        action.guards.append(Guard(c.node, c.line, action.names))
