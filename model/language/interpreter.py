"""Defines the meaning of the language by a slow interpreter. Tests compare every engine (explorer
or prover) with it.

A *state* maps each cell (a variable with values of its keys) to a value: an integer, a truth value,
or None for `nothing`. A *sort* is a finite type, such as Replica. Its elements are the integers of
its range.

*Terms* read the state before the action. Integers are unbounded: if `end` is 0, `end - 1` is -1,
and a comparison with -1 is defined. In three places an integer must be in the range of its sort: as
a key, as an assigned value, and as a value of an optional sort, which also has `nothing`. If the
integer is out of range there, the term is *undefined*.

*Evaluation order* decides which undefined terms are reached. Conjuncts of a guard and members of
`&`, `|`, `=>` and `ite` are evaluated from left to right, until the result is certain. The elements
of a quantifier are evaluated in ascending order, until the result is certain. If the evaluation
reaches an undefined term, this is an error of the spec. Its message names the action, the line and
the conjunct.

To a proof engine, an undefined term may have any value. A proved claim is true for all these
values. But a counterexample may depend on such a value, so this interpreter checks each
counterexample.

*Claims about steps* apply to steps that change the state: `s` reads the state before the step, and
`after` reads the state after the step. `behaviours.py` defines claims about whole behaviours.

*Writes* of an action happen together: their keys, conditions and values read the state before the
action. If two writes change the same cell, the write that is later in the text wins. A `for` over a
set writes only the cells of its members. A cell that no write changes keeps its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import assert_never

from model.language import terms as t
from model.language.expressions import SpecError
from model.language.scope import Ranges, Scope, ranges_of
from model.language.show import show, show_write
from model.language.spec import Action, Guard, Spec

Value = int | bool | None
Cell = tuple[str, tuple[int, ...]]  # the name of a variable, and its keys
State = Mapping[Cell, Value]
Call = tuple[Action, Sequence[int]]  # an action, and the values of its parameters
Env = Mapping[int, Value]  # uid of a parameter or bound variable -> its value


def joined(before: State, after: State) -> State:
    """Returns the states before and after a step as one state. A variable with the suffix `'` has
    its value after the step.
    """
    return {**before, **{(f"{name}{t.AFTER}", keys): v for (name, keys), v in after.items()}}


class Undefined(Exception):
    """The error for a value outside its type.

    `where` names the line and the conjunct of an action, or the name of a claim. `call` is the
    action with the values of its parameters, or None outside an action.
    """

    def __init__(self, what: str, where: str = "", call: Call | None = None) -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what, self.where, self.call = what, where, call


@dataclass(frozen=True, slots=True)
class Interpreter:
    ranges: Ranges

    @classmethod
    def of(cls, spec: Spec, scope: Scope | None = None) -> Interpreter:
        return cls(ranges_of(spec.scope() if scope is None else scope))

    # ---- terms

    def holds(self, formula: t.Node, state: State, env: Env | None = None) -> bool:
        """Returns True if the formula is true in the state. `env` has the values of the formula's
        parameters and free variables. Raises Undefined if a value is outside its type.
        """
        return bool(self.value(formula, state, env or {}))

    def value(self, n: t.Node, state: State, env: Env) -> Value:  # noqa: C901 - one case for each word
        """Returns the value of the term in the state. `env` has the values of the action's
        parameters and of the term's free variables. Raises Undefined if a value is outside its
        type.
        """

        def number(x: t.Node) -> int:
            return int(self.value(x, state, env) or 0)

        match n:
            case t.Const():
                return bool(n.value) if n.sort.flavour == "bool" else n.value
            case t.Least():
                return self.least(n.sort)
            case t.Local():
                return env[n.uid]
            case t.Get():
                return state[n.variable.name, self.keys(n.keys, state, env)]
            case t.Some():
                return self.kept(n.of, state, env)
            case t.Plus():
                return number(n.of) + n.delta
            case t.Ite():
                return self.value(n.then if self.holds(n.test, state, env) else n.other, state, env)
            case t.Not():
                return not self.holds(n.of, state, env)
            case t.And():
                return all(self.holds(x, state, env) for x in n.of)
            case t.Or():
                return any(self.holds(x, state, env) for x in n.of)
            case t.Implies():
                return not self.holds(n.left, state, env) or self.holds(n.right, state, env)
            case t.Eq():
                return self.value(n.left, state, env) == self.value(n.right, state, env)
            case t.Le():
                return number(n.left) <= number(n.right)
            case t.Lt():
                return number(n.left) < number(n.right)
            case t.Succ():
                return number(n.left) + 1 == number(n.right)
            case t.Forall():
                return all(self.holds(n.body, state, e) for e in self.bindings(n.binders, env))
            case t.Exists():
                return any(self.holds(n.body, state, e) for e in self.bindings(n.binders, env))
            case t.Count():
                return sum(self.holds(n.body, state, e) for e in self.bindings(n.binders, env))
            case t.Extreme():
                return self.extreme(n, state, env)
            case _:
                assert_never(n)

    def extreme(self, n: t.Extreme, state: State, env: Env) -> Value:
        elements = self.elements(n.binder.sort)
        for element in reversed(elements) if n.last else elements:
            if self.holds(n.body, state, {**env, n.binder.uid: element}):
                return element
        return self.value(n.default, state, env)

    def elements(self, sort: t.SortInfo) -> range:
        """Returns the elements of the type `sort`. Raises SpecError if the scope does not set their
        number.
        """
        if sort.name not in self.ranges:
            raise SpecError(
                f"no scope for the sort {sort.name}\n"
                f"  add its number of elements to scope(), for example {{{sort.name}: 2}}"
            )
        return self.ranges[sort.name]

    def least(self, sort: t.SortInfo) -> Value:
        """Returns the least value of a sort: None (`nothing`) if the sort is optional, False for
        Bool, otherwise the first element.
        """
        if sort.optional:
            return None
        return False if sort.flavour == "bool" else self.elements(sort).start

    def kept(self, n: t.Node, state: State, env: Env) -> Value:
        """Returns the value of a term that is used as a key, or that is assigned to a variable.
        Raises Undefined if the value is outside the term's type.
        """
        value = self.value(n, state, env)
        if n.sort.flavour == "bool" or value is None or value in self.elements(n.sort):
            return value
        elements = self.elements(n.sort)
        shown = f"{value} is" if isinstance(n, t.Const) else f"{show(n)} is {value},"
        raise Undefined(
            f"{shown} outside of {n.sort.name}, which is {elements.start}..{elements.stop - 1}"
        )

    def keys(self, keys: Sequence[t.Node], state: State, env: Env) -> tuple[int, ...]:
        return tuple(int(self.kept(key, state, env) or 0) for key in keys)

    def bindings(self, binders: Sequence[t.Local], env: Env) -> Iterator[Env]:
        """Yields one environment for each choice of values for the bound variables: `env` with
        these values. The values of the last variable change fastest.
        """
        for values in product(*(self.elements(b.sort) for b in binders)):
            yield {**env, **{b.uid: v for b, v in zip(binders, values, strict=True)}}

    # ---- actions

    def why_disabled(self, action: Action, state: State, values: Sequence[int]) -> Guard | None:
        """Returns the first false conjunct of the action's guard, or None if the action is enabled.
        `values` are the values of the action's parameters.
        """
        env: Env = {p.uid: v for p, v in zip(action.params, values, strict=True)}
        for guard in action.guards:
            try:
                if not self.holds(guard.formula, state, env):
                    return guard
            except Undefined as fault:
                where = f"line {guard.line}: when {guard}"
                raise Undefined(fault.what, where, (action, values)) from fault
        return None

    def step(self, action: Action, state: State, values: Sequence[int] = ()) -> State | None:
        if self.why_disabled(action, state, values) is not None:
            return None
        params: Env = {p.uid: v for p, v in zip(action.params, values, strict=True)}
        after = dict(state)
        for write in action.writes:
            try:
                for env in self.bindings(write.binders, params):
                    if self.holds(write.condition, state, env):
                        cell = (write.variable.name, self.keys(write.keys, state, env))
                        after[cell] = self.kept(write.value, state, env)
            except Undefined as fault:
                text = show_write(write, action.names)
                where = f"line {write.line}: {text}"
                raise Undefined(fault.what, where, (action, values)) from fault
        return after

    def calls(self, action: Action) -> list[tuple[int, ...]]:
        return list(product(*(self.elements(p.sort) for p in action.params)))

    def steps(self, spec: Spec, state: State) -> Iterator[tuple[Action, tuple[int, ...], State]]:
        for action in spec.actions:
            for values in self.calls(action):
                after = self.step(action, state, values)
                if after is not None:
                    yield action, values, after

    def initial(self, spec: Spec) -> list[State]:
        blank: State = {
            (v.name, keys): self.least(v.value)
            for v in spec.variables
            for keys in product(*(self.elements(k) for k in v.keys))
        }
        states = (self.step(spec.initial, blank, values) for values in self.calls(spec.initial))
        return list({tuple(s.items()): s for s in states if s is not None}.values())
