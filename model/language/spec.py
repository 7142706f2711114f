"""A spec: state variables, constants, an initial condition, actions and what is claimed of them; data after one tracing.

A variant is a subclass that replaces one action. Reads see the state before the action, assignments make the state after it, and reading
a variable that the same action has assigned is an error, so the order of assignments never matters to a reader.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from model.language import terms as t
from model.language.words import Bool, Ordered, SpecError, line_in_action, open_loops, tracing, wrap
from model.language.places import Place, Shape, leaves, shape_of
from model.language.scope import Scope
from model.language.show import show, show_write

F = TypeVar("F", bound=Callable[..., Any])
TRUE = t.Const(1, t.BOOL)


@dataclass(frozen=True, slots=True)
class Guard:
    """One conjunct of a guard, with the line of the spec that states it."""

    formula: t.Node
    line: int

    def __str__(self) -> str:
        return show(self.formula)


@dataclass(slots=True)
class Action:
    """An action, traced once: its parameters are symbols."""

    name: str
    says: str
    params: tuple[t.Local, ...]
    guards: list[Guard] = field(default_factory=list)
    writes: list[t.Write] = field(default_factory=list)

    @property
    def changes(self) -> frozenset[str]:
        """The variables that the action may change; its frame is every other."""
        return frozenset(w.variable.name for w in self.writes)

    def describe(self) -> str:
        head = f"{self.name}({', '.join(f'{p.name}: {p.sort.name}' for p in self.params)})"
        when = [f"  when {g}  (line {g.line})" for g in self.guards]
        return "\n".join(
            [head, f"  {self.says}", *when, *(f"  {show_write(w)}" for w in self.writes)]
        )


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    says: str
    formula: t.Node
    lemma: bool


class _Store:
    """Records what the traced action does; None while a predicate is traced."""

    action: Action | None = None

    def written(self) -> int:
        return len(self.action.writes) if self.action is not None else 0

    def read(self, variable: t.Variable, keys: tuple[t.Node, ...], after: int) -> t.Node:
        if self.action is not None and any(
            w.variable == variable for w in self.action.writes[:after]
        ):
            raise SpecError(
                f"{self.action.name} reads {variable.name} after assigning it\n"
                "  an action reads the state before it: bind the value to a name above the assignment"
            )
        return t.Get(variable, keys)

    def write(self, variable: t.Variable, keys: tuple[t.Node, ...], value: t.Node) -> None:
        if self.action is None:
            raise SpecError(f"a predicate assigns {variable.name}; only actions and init may")
        binders = tuple(b for b, _ in open_loops)
        for b in binders:
            if not any(k is b for k in keys):
                raise SpecError(
                    f"inside `for {b.name} in {b.sort.name}`, {variable.name} is assigned at a place that does not depend on {b.name}\n"
                    f"  every {b.sort.name} would assign it at once: index the assigned place with {b.name}"
                )
        ranges = [c for _, c in open_loops if not isinstance(c, t.Const)]
        condition = t.And(tuple(ranges)) if ranges else TRUE
        self.action.writes.append(
            t.Write(variable, keys, binders, condition, value, line_in_action())
        )


_tracing: list[Action] = []


def when(*conjuncts: Bool) -> None:
    """The action may happen only where every conjunct is true."""
    if not _tracing:
        raise SpecError("when(...) belongs into an action")
    if open_loops:
        raise SpecError("when(...) inside a for: write when(forall(... for ...))")
    _tracing[-1].guards += [Guard(c.node, c.line) for c in conjuncts]


def action(method: F) -> F:
    """Marks a method as an action: its parameters range over their sorts."""
    method.role = "action"  # type: ignore[attr-defined]
    return method


def invariant(method: F) -> F:
    """Marks a predicate that is true in every reachable state."""
    method.role = "invariant"  # type: ignore[attr-defined]
    return method


def lemma(method: F) -> F:
    """Marks an invariant that is there to make the others inductive."""
    method.role = "lemma"  # type: ignore[attr-defined]
    return method


def witness(method: F) -> F:
    """Marks a predicate that is true in some reachable state: without one, what is claimed may be empty."""
    method.role = "witness"  # type: ignore[attr-defined]
    return method


class Spec:
    """The base of every spec. In its methods the first parameter is the state, and is written `s`."""

    shapes: ClassVar[dict[str, Shape]]
    constants: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls)
        cls.shapes = {n: s for n, h in hints.items() if (s := shape_of(h)) is not None}
        cls.constants = {
            n: getattr(cls, n)
            for n in hints
            if n not in cls.shapes and n not in Spec.__annotations__
        }

    def __init__(self, **constants: int | bool) -> None:
        self.__dict__["_store"] = _Store()
        for name, value in constants.items():
            if name not in self.constants:
                near = get_close_matches(name, self.constants, 3, 0)
                raise SpecError(
                    f"{type(self).__name__} has no constant {name!r}; the nearest: {', '.join(near)}"
                )
            self.__dict__[name] = value

    def scope(self) -> Scope:
        """The finite scope in which the spec is explored when the engine is given no other."""
        return {}

    def init(self, *_chosen: Any, **_by_name: Any) -> None:
        """Assigns the initial state, for any values of its parameters; what it leaves out starts at its least (false, 0, nothing)."""

    if not TYPE_CHECKING:  # hidden, so that type checkers know the variables and no others

        def __getattr__(self, name):
            return self._place(name).view()

        def __setattr__(self, name, value):
            self._place(name).assign(value)

    def _place(self, name: str) -> Place:
        if name not in self.shapes:
            near = get_close_matches(name, self.shapes, 3, 0)
            fault = (
                AttributeError if name.startswith("_") else SpecError
            )  # an AttributeError inside a property would be swallowed
            raise fault(
                f"{type(self).__name__} has no variable {name!r}; the nearest: {', '.join(near)}"
            )
        store: _Store = self.__dict__["_store"]
        return Place(store, self.shapes[name], name, store.written())

    # ---- what engines read

    @cached_property
    def variables(self) -> tuple[t.Variable, ...]:
        return tuple(v for n, s in self.shapes.items() for v in leaves(s, n))

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        return tuple(self._trace(n) for n in self._named("action"))

    @cached_property
    def initial(self) -> Action:
        return self._trace("init")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(
            Claim(
                n,
                inspect.getdoc(getattr(type(self), n)) or "",
                getattr(self, n)().node,
                role == "lemma",
            )
            for role in ("invariant", "lemma")
            for n in self._named(role)
        )

    @cached_property
    def witnesses(self) -> tuple[Claim, ...]:
        return tuple(
            Claim(
                n,
                inspect.getdoc(getattr(type(self), n)) or "",
                getattr(self, n)().node,
                lemma=False,
            )
            for n in self._named("witness")
        )

    def _named(self, role: str) -> list[str]:
        names = dict.fromkeys(n for c in reversed(type(self).__mro__) for n in vars(c))
        return [n for n in names if getattr(getattr(type(self), n), "role", None) == role]

    def _trace(self, name: str) -> Action:
        method = getattr(type(self), name)
        hints = typing.get_type_hints(method)
        names = [
            n
            for n, p in inspect.signature(method).parameters.items()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ][1:]
        params = tuple(t.Local(hints[n].info, n) for n in names)
        made = Action(name, (inspect.getdoc(method) or "").split("\n")[0], params)
        store: _Store = self.__dict__["_store"]
        store.action = made
        _tracing.append(made)
        tracing.append(method.__code__)
        try:
            getattr(self, name)(*(wrap(hints[n], p) for n, p in zip(names, params, strict=True)))
        finally:
            _tracing.pop()
            tracing.pop()
            open_loops.clear()
            store.action = None
        return made


__all__ = ["Ordered", "Scope", "Spec", "action", "invariant", "lemma", "when"]
