"""Turns the methods of a spec into TLA+ operators, and replaces terms by calls of these operators.

A method that returns a term is called with symbols as its parameters. If an action or a claim
contains the returned term, the TLA+ module calls the operator there.

Terms have no calls of operators. So the call `IsFollowing(f, l)` is represented by a read of a map:
the map has the name `IsFollowing()`, and the keys are `f` and `l`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from model.language import terms as t
from model.language.binding import rebuilt
from model.language.expressions import SpecError, Term, wrap
from model.language.show import size
from model.language.spec import Spec, summary_of
from model.language.tla.lifting import Differs, Lifting, camel

SMALLEST = 3  # nodes: a smaller term is written out
CALL = "()"  # suffix of the variable that stands for an operator


@dataclass(frozen=True, kw_only=True)
class Operator:
    name: str
    summary: str
    params: tuple[t.Local, ...]
    body: t.Node

    @property
    def variable(self) -> t.Variable:
        return t.Variable(self.name + CALL, tuple(p.sort for p in self.params), self.body.sort)


def operators_of(lifting: Lifting) -> tuple[Operator, ...]:
    """Returns an operator for each method of the spec that returns a term. Operators with longer
    bodies come first.

    A method with a guard, an assignment, or a very short body has no operator.
    """
    made: dict[str, Operator] = {}
    for name, method in _methods(type(lifting.spec)):
        params = _params(method)
        if params is None:
            continue
        try:
            # Parameters are shared, so that the bodies differ in literals only.
            every = [_body(s, method, params) for s in (lifting.spec, *lifting.others)]
            bodies = [b for b in every if b is not None]
            if len(bodies) < len(every):
                continue
            body = lifting.lifted(*bodies)
        except (SpecError, Differs):  # it assigns, or has a guard
            continue
        if size(body) < SMALLEST:
            continue
        free = t.locals_of(body)
        used = tuple(p for p in params if p.uid in free)
        made[name] = Operator(name=camel(name), summary=summary_of(method), params=used, body=body)
    return tuple(sorted(made.values(), key=lambda o: -size(o.body)))


def _methods(cls: type[Spec]) -> Iterator[tuple[str, Any]]:
    own = [c for c in cls.__mro__ if issubclass(c, Spec) and c is not Spec]
    names = dict.fromkeys(n for c in reversed(own) for n in vars(c))
    for name in names:
        method = inspect.getattr_static(cls, name)
        plain = inspect.isfunction(method) and getattr(method, "role", None) is None
        if plain and name not in ("init", "scope") and not name.startswith("__"):
            yield name, method


def _params(method: Any) -> tuple[t.Local, ...] | None:
    hints = typing.get_type_hints(method)
    parameters = inspect.signature(method).parameters.values()
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        return None
    names = [p.name for p in parameters][1:]
    sorts = [hints.get(name) for name in names]
    if not all(isinstance(s, type) and issubclass(s, Term) for s in sorts):
        return None
    return tuple(t.Local(s.info, n) for n, s in zip(names, sorts, strict=True) if s is not None)


def _body(spec: Spec, method: Any, params: tuple[t.Local, ...]) -> t.Node | None:
    hints = typing.get_type_hints(method)
    made = method(spec, *(wrap(hints[p.name], p) for p in params))
    return made.node if isinstance(made, Term) else None


@dataclass
class Folding:
    """Replaces terms by operator calls: `x < 3` becomes `F(x)` if `F(a) == a < 3`."""

    operators: tuple[Operator, ...]
    used: dict[str, Operator] = field(default_factory=dict[str, Operator])
    done: dict[t.Node, t.Node] = field(default_factory=dict[t.Node, t.Node])

    def folded(self, n: t.Node) -> t.Node:
        if n not in self.done:
            self.done[n] = self._fold(n, self.operators)
        return self.done[n]

    def body(self, operator: Operator) -> t.Node:
        """Returns the operator's body, in which terms are replaced by calls of operators with
        shorter bodies. So no operator calls itself.
        """
        smaller = self.operators[self.operators.index(operator) + 1 :]
        return self._fold(operator.body, smaller)

    def _fold(self, n: t.Node, operators: tuple[Operator, ...]) -> t.Node:
        if not isinstance(n, t.Const | t.Least | t.Local):
            for operator in operators:
                bound: dict[int, t.Node] = {}
                if type(operator.body) is type(n) and _matches(
                    operator.body, n, {p.uid: p for p in operator.params}, bound, frozenset()
                ):
                    self.used[operator.name] = operator
                    keys = tuple(self.folded(bound[p.uid]) for p in operator.params)
                    return t.Get(operator.variable, keys)
            if isinstance(n, t.And | t.Or):
                return self._junction(n, operators)
        return rebuilt(n, self.folded)

    def _junction(self, n: t.And | t.Or, operators: tuple[Operator, ...]) -> t.Node:
        parts: list[t.Node] = []
        k = 0
        while k < len(n.of):
            # one call may replace several parts
            count, part = self._run(n, k, operators)
            parts.append(part)
            k += count
        return type(n)(tuple(parts))

    def _run(self, n: t.And | t.Or, k: int, operators: tuple[Operator, ...]) -> tuple[int, t.Node]:
        for operator in operators:
            body = operator.body
            if type(body) is type(n) and isinstance(body, t.And | t.Or):
                several = 1 < len(body.of) <= len(n.of) - k
                window = type(n)(n.of[k : k + len(body.of)])
                bound: dict[int, t.Node] = {}
                params = {p.uid: p for p in operator.params}
                if several and _matches(body, window, params, bound, frozenset()):
                    self.used[operator.name] = operator
                    keys = tuple(self.folded(bound[p.uid]) for p in operator.params)
                    return len(body.of), t.Get(operator.variable, keys)
        return 1, self.folded(n.of[k])


def _matches(
    pattern: t.Node,
    n: t.Node,
    params: Mapping[int, t.Local],
    bound: dict[int, t.Node],
    inner: frozenset[int],
) -> bool:
    """Returns True if `n` is the pattern with its parameters replaced by terms.

    If the result is True, `bound` maps the uid of each parameter to its term. `inner` has the uids
    of the variables that are bound by the quantifiers around `pattern`.
    """
    if isinstance(pattern, t.Local) and pattern.uid in params:
        # a variable that a quantifier of the pattern binds must not occur in the term
        if n.sort != pattern.sort or t.locals_of(n) & inner:
            return False
        return bound.setdefault(pattern.uid, n) is n
    if pattern is n:
        return not t.locals_of(pattern) & params.keys()
    if type(pattern) is not type(n) or pattern.sort != n.sort:
        return False
    match pattern, n:
        case (t.Const(), _) | (t.Least(), _) | (t.Local(), _):
            return False
        case (t.Get() as a, t.Get() as b):
            same = a.variable == b.variable
        case (t.Plus() as a, t.Plus() as b):
            same = a.delta == b.delta
        case (t.Forall() | t.Exists() | t.Count() as a, t.Forall() | t.Exists() | t.Count() as b):
            same = a.binders == b.binders
            inner |= {x.uid for x in a.binders}
        case (t.Extreme() as a, t.Extreme() as b):
            same = a.binder == b.binder and a.last == b.last
            inner |= {a.binder.uid}
        case _:
            same = True
    below, others = t.children(pattern), t.children(n)
    return (
        same
        and len(below) == len(others)
        and all(_matches(x, y, params, bound, inner) for x, y in zip(below, others, strict=True))
    )
