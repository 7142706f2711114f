"""A spec: state variables, constants, an initial condition, actions and what is claimed of them.

It is ordinary Python run once, on symbols; from then on it is data. Engines read `variables`,
`initial`, `actions`, `claims`, `action_properties`, `liveness_properties` and `witnesses`, never
the methods. A variant is a subclass that
replaces a method.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args, overload

from model.language import precedence
from model.language import terms as t
from model.language.actions import Action, Claim, Guard, Liveness
from model.language.constants import Constant, check, declared
from model.language.expressions import Ordered, SpecError, Term, formula, wrap
from model.language.scope import Scope
from model.language.state_variables import (
    LeafShape,
    MapShape,
    Reference,
    Shape,
    leaves,
    no_such,
    reraise_property_error,
    shape_of,
)
from model.language.temporal import Fairness, Temporal
from model.language.tracing import After, Recorder, when

F = TypeVar("F", bound=Callable[..., Any])
About = Literal["states", "steps"]


def _role(name: str) -> Callable[[F], F]:
    def mark(method: F) -> F:
        method.role = name  # type: ignore[attr-defined] # read back by Spec._named
        return method

    return mark


@overload
def action(method: F) -> F: ...
@overload
def action(*, fair: Fairness) -> Callable[[F], F]: ...
def action(method: F | None = None, *, fair: Fairness | None = None) -> F | Callable[[F], F]:
    """Marks a method as an action: its parameters range over their sorts.

    A fair one is taken in the end, for each choice of its parameters: a weakly fair one where it
    stays enabled, a strongly fair one where it is enabled again and again.
    """
    if fair is not None and fair not in get_args(Fairness):
        raise SpecError(f"an action is fair='weak' or fair='strong', not {fair!r}")

    def mark(marked: F) -> F:
        marked.fair = fair  # type: ignore[attr-defined] # read back by Spec._trace
        return _role("action")(marked)

    return mark if method is None else mark(method)


def invariant(method: F) -> F:
    """Marks a predicate that is true in every reachable state."""
    return _role("invariant")(method)


def lemma(method: F) -> F:
    """Marks an invariant that is there to make the others inductive."""
    return _role("lemma")(method)


def action_property(method: F) -> F:
    """Marks a predicate `(s, after)` that is true of every step, from `s` to another state."""
    return _role("action property")(method)


def liveness(method: F) -> F:
    """Marks what every fair behaviour does, for each value of the method's parameters.

    It returns `leads_to(...)`, `eventually(...)`, `always_eventually(...)` or
    `eventually_always(...)`.
    """
    return _role("liveness")(method)


def witness(method: F) -> F:
    """Marks a predicate that some reachable state makes true: without one, claims may be empty."""
    return _role("witness")(method)


class Spec:
    """The base of every spec. The first parameter of its methods is the state, written `s`."""

    shapes: ClassVar[dict[str, Shape]]
    constants: ClassVar[dict[str, Constant]]

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls, include_extras=True)
        cls.shapes = {n: s for n, h in hints.items() if (s := shape_of(h)) is not None}
        rest = {n: h for n, h in hints.items() if n not in cls.shapes}
        cls.constants = declared(rest, {n: getattr(cls, n) for n in rest if hasattr(cls, n)})

    def __init__(self, **constants: int | bool) -> None:
        self.__dict__["_recorder"] = Recorder()
        check(type(self).__name__, self.constants, constants)
        self.__dict__.update(constants)

    def scope(self) -> Scope:
        """The finite scope in which the spec is explored when the engine is given no other."""
        return {}

    def init(self, *_chosen: Any, **_by_name: Any) -> None:
        """Assigns the initial state, for any values of its parameters.

        What it leaves out starts at its least: false, 0, nothing.
        """

    if not TYPE_CHECKING:  # hidden, so that type checkers know the variables and no others

        def __getattr__(self, name):
            return self._reference(name).view()

        def __setattr__(self, name, value):
            self._reference(name).assign(value)

    def _reference(self, name: str) -> Reference:
        reraise_property_error(self, name)
        if name not in self.shapes:
            raise no_such(self, "variable", name, self.shapes)
        return Reference(self.__dict__["_recorder"], self.shapes[name], name)

    # ---- what engines read

    @cached_property
    def variables(self) -> tuple[t.Variable, ...]:
        """The state, flat: one total function for each part of each variable."""
        return tuple(v for n, s in self.shapes.items() for v in leaves(s, n))

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Every action, in the order in which the spec and its bases declare them."""
        return tuple(self._trace(n) for n in self._named("action"))

    @cached_property
    def initial(self) -> Action:
        """The assignments that make an initial state."""
        return self._trace("init")

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Every invariant, then every lemma."""
        return tuple(self._claims("invariant", lemma=False)) + tuple(
            self._claims("lemma", lemma=True)
        )

    @cached_property
    def witnesses(self) -> tuple[Claim, ...]:
        """What must be reachable."""
        return tuple(self._claims("witness", lemma=False))

    @cached_property
    def action_properties(self) -> tuple[Claim, ...]:
        """What is claimed of every step."""
        return tuple(
            self._claims("action property", lemma=False, about="steps", of=(self._after(),))
        )

    @cached_property
    def liveness_properties(self) -> tuple[Liveness, ...]:
        """What is claimed of every fair behaviour."""
        return tuple(map(self._liveness, self._named("liveness")))

    @property
    def properties(self) -> tuple[Claim | Liveness, ...]:
        """Everything that is claimed: of states, of steps, of behaviours."""
        return (*self.claims, *self.action_properties, *self.liveness_properties)

    @cached_property
    def sorts(self) -> dict[str, type[Term]]:
        """The sorts that the spec's variables and parameters mention, by name."""
        found = [s for shape in self.shapes.values() for s in _sorts_of(shape)]
        for name in ("init", *self._named("action"), *self._named("liveness")):
            found += [self._hints(name)[p.name] for p in self._params(name)]
        return {s.__name__: s for s in found}

    # ---- one tracing

    def _named(self, role: str) -> list[str]:
        names = dict.fromkeys(n for c in reversed(type(self).__mro__) for n in vars(c))
        return [n for n in names if getattr(getattr(type(self), n), "role", None) == role]

    def _method(self, name: str) -> Any:
        for cls in type(self).__mro__:
            if issubclass(cls, Spec) and cls is not Spec:
                precedence.check(cls)
        return getattr(type(self), name)

    def _hints(self, name: str) -> dict[str, Any]:
        return typing.get_type_hints(getattr(type(self), name))

    def _params(self, name: str) -> tuple[t.Local, ...]:
        method, hints = getattr(type(self), name), self._hints(name)
        names = [
            p.name
            for p in inspect.signature(method).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        for n in names[1:]:
            if not (isinstance(hints.get(n), type) and issubclass(hints[n], Term)):
                raise SpecError(
                    f"{type(self).__name__}.{name}: its parameter {n} wants a sort: {n}: Replica"
                )
        return tuple(t.Local(hints[n].info, n) for n in names[1:])

    def _trace(self, name: str) -> Action:
        method, hints, params = self._method(name), self._hints(name), self._params(name)
        made = Action(name, _says(method), params, fair=getattr(method, "fair", None))
        recorder: Recorder = self.__dict__["_recorder"]
        with recorder.recording(made, method.__code__):
            getattr(self, name)(*(wrap(hints[p.name], p) for p in params))
        return made

    def _claims(
        self, role: str, *, lemma: bool, about: About = "states", of: tuple[Self, ...] = ()
    ) -> Iterator[Claim]:
        for name in self._named(role):
            method = self._method(name)
            made = formula(getattr(self, name)(*of)).node
            yield Claim(name, _says(method), made, lemma, method.__code__.co_firstlineno, about)

    def _liveness(self, name: str) -> Liveness:
        method, hints, params = self._method(name), self._hints(name), self._params(name)
        made: object = getattr(self, name)(*(wrap(hints[p.name], p) for p in params))
        if not isinstance(made, Temporal):
            raise SpecError(
                f"{type(self).__name__}.{name} says nothing of behaviours: return leads_to(p, q),"
                " eventually(q), always_eventually(q) or eventually_always(q)"
            )
        line = method.__code__.co_firstlineno
        return Liveness(name, _says(method), params, made.kind, made.premise, made.goal, line)

    def _after(self) -> Self:
        """The same spec, read in the state after a step."""
        made = type(self)(**{name: getattr(self, name) for name in self.constants})
        made.__dict__["_recorder"] = After()
        return made


def _says(method: Callable[..., Any]) -> str:
    """The first sentence or so of a docstring: up to its first empty line."""
    return " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())


def _sorts_of(shape: Shape) -> Iterator[type[Term]]:
    match shape:
        case LeafShape():
            yield shape.sort
        case MapShape():
            yield shape.key
            yield from _sorts_of(shape.value)
        case _:
            for inner in shape.record.fields().values():
                yield from _sorts_of(inner)


__all__ = [
    "Action", "Claim", "Guard", "Liveness", "Ordered", "Scope", "Spec", "action",
    "action_property", "invariant", "lemma", "liveness", "when", "witness",
]  # fmt: skip
