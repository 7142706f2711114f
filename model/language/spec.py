"""A spec: state variables, constants, an initial condition, actions and properties.

Tracing runs each method once, on symbols instead of values. After tracing, a spec is data, and the
engines (explorers and provers) never read the methods. A variant of a spec is a subclass that
replaces a method.
"""

from __future__ import annotations

import inspect
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_args, overload

from model.language import precedence
from model.language import terms as t
from model.language.actions import Action, Claim, Guard, Liveness, Predicate
from model.language.annotations import check_annotations
from model.language.constants import Constant, check, declared
from model.language.expressions import (
    Bool,
    NothingReturned,
    Ordered,
    SpecError,
    Term,
    wrap,
)
from model.language.names import watching_returns
from model.language.scope import Scope, check_scope
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
S = TypeVar("S", bound="Spec")
Method = Any  # a function of a spec's class, which `_role` marks
About = Literal["states", "steps"]


def _role(name: str) -> Callable[[F], F]:
    def mark(method: F) -> F:
        method.role = name  # type: ignore[attr-defined] # read back by Spec._methods
        return method

    return mark


@overload
def action(method: F) -> F: ...
@overload
def action(*, fair: Fairness) -> Callable[[F], F]: ...
def action(method: F | None = None, *, fair: Fairness | None = None) -> F | Callable[[F], F]:
    """Marks a method as an action. `@action(fair=...)` marks a fair action.

    A weakly fair action is eventually taken if it stays enabled. A strongly fair action is
    eventually taken if it is enabled infinitely often. An action without `fair` may never be taken.
    """
    if fair is not None and fair not in get_args(Fairness):
        raise SpecError(f"an action is fair='weak' or fair='strong', not {fair!r}")

    def mark(marked: F) -> F:
        # fairness holds separately for each choice of the parameters
        marked.fair = fair  # type: ignore[attr-defined] # read back by Spec._trace
        return _role("action")(marked)

    return mark if method is None else mark(method)


def invariant(method: F) -> F:
    """Marks a method as an invariant: the method returns a formula that must be true in every
    reachable state.
    """
    return _role("invariant")(method)


def lemma(method: F) -> F:
    """Marks a method as a lemma: an invariant that only helps to make the other invariants
    inductive.
    """
    return _role("lemma")(method)


def action_property(method: F) -> F:
    """Marks a method `(s, after)` that returns a formula about a step. The formula must be true of
    every step that changes the state.
    """
    return _role("action property")(method)


def liveness(method: F) -> F:
    """Marks a method as a liveness property: every fair behaviour must satisfy the returned
    formula, for all values of the method's parameters.

    The method returns `leads_to(...)`, `eventually(...)`, `always_eventually(...)` or
    `eventually_always(...)`.
    """
    return _role("liveness")(method)


def witness(method: F) -> F:
    """Marks a method as a witness: some reachable state must satisfy the returned formula.
    Witnesses show that the claims are not vacuously true.
    """
    return _role("witness")(method)


class Spec:
    """The base class of every spec. The first parameter of a spec's methods is the state, `s`."""

    shapes: ClassVar[dict[str, Shape]] = {}
    constants: ClassVar[dict[str, Constant]]
    _hints: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        if len(cls.__bases__) > 1 or "__annotations__" in vars(cls):
            hints = typing.get_type_hints(cls, include_extras=True)
            check_annotations(cls, hints)
            cls._hints = hints
            cls.shapes = {n: s for n, h in hints.items() if (s := shape_of(h)) is not None}
        # Otherwise, as in most bugs, the class shares the hints and the shapes of its base: to
        # resolve hints takes most of the time in which all variants are imported.
        rest = {n: h for n, h in cls._hints.items() if n not in cls.shapes}
        cls.constants = declared(rest, {n: getattr(cls, n) for n in rest if hasattr(cls, n)})

    def __init__(self, **constants: int | bool) -> None:
        self.__dict__["_recorder"] = Recorder()
        check(type(self).__name__, self.constants, constants)
        self.__dict__.update(constants)

    def scope(self) -> Scope:
        """Returns the default number of elements of each sort, such as 3 replicas."""
        return {}

    def init(self, *_chosen: Any, **_by_name: Any) -> None:
        """Assigns an initial state. Each choice of values for the parameters of `init` gives one
        initial state.

        A variable that `init` does not assign has its least value: false, 0, nothing.
        """

    if not TYPE_CHECKING:  # hidden: type checkers accept the declared variables and no others

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
        """The variables of the state. A `Record` has one variable for each of its fields, such as
        `log.end_offset`.
        """
        return tuple(v for n, s in self.shapes.items() for v in leaves(s, n))

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        return tuple(map(self._trace, self._methods("action")))

    @cached_property
    def initial(self) -> Action:
        return self._trace(type(self).init)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        return (*self._claims("invariant"), *self._claims("lemma"))

    @cached_property
    def witnesses(self) -> tuple[Claim, ...]:
        return self._claims("witness")

    @cached_property
    def action_properties(self) -> tuple[Claim, ...]:
        return self._claims("action property")

    @cached_property
    def liveness_properties(self) -> tuple[Liveness, ...]:
        return tuple(map(self._liveness, self._methods("liveness")))

    @property
    def properties(self) -> tuple[Claim | Liveness, ...]:
        return (*self.claims, *self.action_properties, *self.liveness_properties)

    @cached_property
    def sorts(self) -> dict[str, type[Term]]:
        found = [s for shape in self.shapes.values() for s in _sorts_of(shape)]
        for method in (type(self).init, *self._methods("action"), *self._methods("liveness")):
            hints = typing.get_type_hints(method)
            found += [hints[p.name] for p in self._params(method)]
        return {s.__name__: s for s in found}

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """The methods that return a formula and have no mark such as `@invariant`."""
        return tuple(p for m in self._methods(None) if (p := self._predicate(m)) is not None)

    def check_scope(self) -> None:
        """Checks what the method `scope` returns. Raises SpecError for a mistake."""
        try:
            check_scope(self.scope())
        except SpecError as error:
            raise self._located(type(self).scope, error) from error

    def check_replaced(self) -> None:
        """Checks the replaced methods: those of a base class that this class overrides. Raises
        SpecError for a mistake in such a method.

        Tracing does not run these methods, so nothing else would find the mistake.
        """
        for cls in type(self).__mro__[1:]:
            for name, method in vars(cls).items() if cls is not Spec else ():
                if getattr(type(self), name) is not method:
                    match getattr(method, "role", None):
                        case "action":
                            self._trace(method)
                        case "liveness":
                            self._liveness(method)
                        case str(role):
                            self._claim(method, role)
                        case _:
                            pass

    # ---- one tracing

    @classmethod
    def _methods(cls, role: str | None) -> list[Method]:
        mro = cls.__mro__[: cls.__mro__.index(Spec)]
        names = dict.fromkeys(n for c in reversed(mro) for n in vars(c))
        methods = (getattr(cls, n) for n in names)
        return [m for m in methods if getattr(m, "role", None) == role]

    def _check_precedence(self) -> None:
        for cls in type(self).__mro__:
            if issubclass(cls, Spec) and cls is not Spec:
                precedence.check(cls)

    def _params(self, method: Method) -> tuple[t.Local, ...]:
        hints = typing.get_type_hints(method)
        names = [
            p.name
            for p in inspect.signature(method).parameters.values()
            if p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        for n in names[1:]:
            if not (isinstance(hints.get(n), type) and issubclass(hints[n], Term)):
                raise SpecError.at(
                    f"{type(self).__name__}.{method.__name__}",
                    method.__code__.co_firstlineno,
                    f"the parameter {n} has no sort\n  annotate it with one, for example"
                    f" {n}: Replica",
                )
        return tuple(t.Local(hints[n].info, n) for n in names[1:])

    def _call(self, method: Method, *args: object) -> Any:
        self._check_precedence()
        try:
            try:
                return method(self, *args)
            except NothingReturned:  # run again, to find the function that has no `return`
                with watching_returns():
                    return method(self, *args)
        except SpecError as error:
            raise self._located(method, error) from error

    def _located(self, method: Method, error: SpecError) -> SpecError:
        if error.line is not None:
            return error
        code = method.__code__
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if f.filename == code.co_filename and f.lineno]
        where = f"{type(self).__name__}.{method.__name__}"
        return SpecError.at(where, lines[-1] if lines else code.co_firstlineno, str(error))

    def _arguments(self, method: Method, params: Sequence[t.Local]) -> list[Any]:
        hints = typing.get_type_hints(method)
        return [wrap(hints[p.name], p) for p in params]

    def _trace(self, method: Method) -> Action:
        params = self._params(method)
        made = Action(
            method.__name__, summary_of(method), params, fair=getattr(method, "fair", None)
        )
        recorder: Recorder = self.__dict__["_recorder"]
        with recorder.recording(made, method.__code__):
            self._call(method, *self._arguments(method, params))
        return made

    def _claims(self, role: str) -> tuple[Claim, ...]:
        return tuple(self._claim(method, role) for method in self._methods(role))

    def _claim(self, method: Method, role: str) -> Claim:
        about: About = "steps" if role == "action property" else "states"
        made = self._call(method, *([self._after()] if about == "steps" else []))
        if not isinstance(made, Bool):
            raise self._located(method, SpecError(_not_a_formula(role, made)))
        return Claim(
            method.__name__,
            summary_of(method),
            made.node,
            lemma=role == "lemma",
            line=method.__code__.co_firstlineno,
            about=about,
        )

    def _predicate(self, method: Method) -> Predicate | None:
        if (
            not inspect.isfunction(method)
            or typing.get_type_hints(method).get("return") is not Bool
        ):
            return None
        hints = typing.get_type_hints(method)
        names = list(inspect.signature(method).parameters)[1:]
        if not all(isinstance(hints.get(n), type) and issubclass(hints[n], Term) for n in names):
            return None
        params = self._params(method)
        made = self._call(method, *self._arguments(method, params))
        return Predicate(method.__name__, params, made.node) if isinstance(made, Bool) else None

    def _liveness(self, method: Method) -> Liveness:
        params = self._params(method)
        made = self._call(method, *self._arguments(method, params))
        if not isinstance(made, Temporal):
            found = "nothing" if made is None else "no formula about behaviours"
            mistake = SpecError(
                f"the liveness property returns {found}\n  return leads_to(p, q),"
                " eventually(q), always_eventually(q) or eventually_always(q)"
            )
            raise self._located(method, mistake)
        return Liveness(
            method.__name__,
            summary_of(method),
            params,
            made.kind,
            made.premise,
            made.goal,
            method.__code__.co_firstlineno,
        )

    def _after(self) -> Self:
        return self.unchecked({}, After())

    def unchecked(
        self, constants: Mapping[str, int | bool], recorder: Recorder | After | None = None
    ) -> Self:
        """Returns a copy of the spec in which some constants have other values: those in
        `constants`. The copy does not check that the values are in their ranges.

        `recorder` records the reads and writes of the copy. The default is a new `Recorder`.
        """
        made = object.__new__(type(self))
        made.__dict__["_recorder"] = Recorder() if recorder is None else recorder
        kept = {name: getattr(self, name) for name in self.constants}
        made.__dict__.update({**kept, **constants})
        return made


def with_title(cls: type[S], title: str, constants: Mapping[str, int | bool]) -> S:
    """Returns an instance of the spec class with these values of its constants. Error messages name
    the instance by its title, such as `replication kip-320`.

    Raises SpecError for an unknown constant, or for a value that the constant does not allow.
    """
    check(title, cls.constants, constants)
    spec = cls(**constants)
    spec.__dict__["_title"] = title
    return spec


def title_of(spec: Spec) -> str:
    title: str = spec.__dict__.get("_title", type(spec).__name__)
    return title


def summaries(cls: type[Spec], role: str) -> dict[str, str]:
    """Returns the summaries of the methods that have the mark `role`, such as `invariant`. The keys
    are the names of the methods.

    The function traces no method of the spec class, so it is fast.
    """
    return {m.__name__: summary_of(m) for m in cls._methods(role)}


def _not_a_formula(role: str, returned: object) -> str:
    if returned is None:
        return f"the {role} returns nothing\n  end it with `return` and a formula"
    if isinstance(returned, Temporal):
        return f"the {role} returns a formula about behaviours\n  mark it with @liveness"
    found = f"a term of {type(returned).__name__}" if isinstance(returned, Term) else repr(returned)
    return (
        f"the {role} returns {found}, which is not a formula of the spec\n"
        "  return a comparison of terms, all_of(...), forall(...), or the literal true or false"
    )


def summary_of(method: Callable[..., Any]) -> str:
    """Returns the first paragraph of a method's docstring, on one line. It is empty if the method
    has no docstring.
    """
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
