"""Computes the steps that `interpreter` defines. In most cases, the time of a step does not grow
with the number of elements of a type.

The values of `a[k]` for all `k` are one row (`rows.py`), and the terms of an action are compiled to
Python functions once. Two parts of an action concern a whole type, such as all offsets. In the
following table, each part is on the left, and the way to make it cheaper is on the right:

    a quantifier, or a `for`    visits only elements that a comparison allows (*narrowing*):
                                with `(start <= o) & (o < end)`, the offsets from `start` to `end`;
                                with `bound < row[o]`, the offsets where `row` is above `bound`
    a row that is assigned      after `a[k] = b[k]` for all k, `a` and `b` share one row

An undefined term, such as a key outside its type, is an error of the spec. Narrowing must not hide
this error. So in `p & (o < end)`, narrowing visits every element for which `p` is undefined.

A test computes random steps of every spec with this module and with the interpreter, and compares
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.interpreter import Interpreter, Undefined, Value
from model.language.narrowing import Free, Narrowed, is_defined, narrowed
from model.language.rows import Held, Row, RowState
from model.language.scope import Ranges
from model.language.show import show_write
from model.language.spec import Spec

Env: TypeAlias = dict[int, int]  # uid of a parameter or bound variable -> its value
Eval: TypeAlias = Callable[[RowState, Env], Value]
Keys: TypeAlias = Callable[[RowState, Env], tuple[int, ...]]
Elements: TypeAlias = Callable[[RowState, Env], Iterable[int]]


@dataclass(frozen=True, slots=True)
class _Write:
    write: t.Write
    loops: Sequence[tuple[int, Elements]]
    condition: Eval
    keys: Keys
    value: Eval
    # for `a[k] = b[k]` for all `k`: returns the row of all `b[k]`
    shares: Callable[[RowState, Env], Row] | None


@dataclass(frozen=True, slots=True)
class _Action:
    action: Action
    guards: Sequence[tuple[Guard, Eval]]
    writes: Sequence[_Write]


@dataclass(slots=True)
class Stepper:
    ranges: Ranges
    variables: Mapping[str, t.Variable]
    actions: Mapping[str, Action]
    _interpreter: Interpreter
    _actions: dict[tuple[str, Free], _Action] = field(
        default_factory=dict[tuple[str, Free], _Action]
    )

    @classmethod
    def of(cls, spec: Spec, ranges: Ranges) -> Stepper:
        """Returns an object that computes the steps of the spec. `ranges` is the result of
        `ranges_of`: the elements of each sort.
        """
        variables = {v.name: v for v in spec.variables}
        return cls(ranges, variables, {a.name: a for a in spec.actions}, Interpreter(ranges))

    def blank(self) -> RowState:
        return RowState.blank(self.variables, self.ranges, self._interpreter.least)

    def why_disabled(self, action: Action, state: RowState, values: Sequence[int]) -> Guard | None:
        env = _bound(action, values)
        for guard, holds in self._of(action, values).guards:
            try:
                if not holds(state, env):
                    return guard
            except Undefined as fault:
                where = f"line {guard.line}: when {guard}"
                raise Undefined(fault.what, where, (action, values)) from fault
        return None

    def step(self, action: Action, state: RowState, values: Sequence[int] = ()) -> RowState | None:
        if self.why_disabled(action, state, values) is not None:
            return None
        after, env = dict(state.held), _bound(action, values)
        for one in self._of(action, values).writes:
            try:
                self._assign(one, state, env, after)
            except Undefined as fault:
                text = show_write(one.write, action.names)
                where = f"line {one.write.line}: {text}"
                raise Undefined(fault.what, where, (action, values)) from fault
        return RowState(after, state.starts)

    def _assign(self, one: _Write, state: RowState, env: Env, after: dict[str, Held]) -> None:
        name = one.write.variable.name
        starts = state.starts[name]
        for inner in _loops(one.loops, state, env):
            if not one.condition(state, inner):
                continue
            keys = one.keys(state, inner)
            at = [key - start for key, start in zip(keys, starts, strict=False)]
            value = one.value(state, inner) if one.shares is None else one.shares(state, inner)
            after[name] = _put(after[name], at, value)

    # ---- actions as functions

    def _of(self, action: Action, values: Sequence[int]) -> _Action:
        inside = all(
            v in self.ranges[p.sort.name] for p, v in zip(action.params, values, strict=True)
        )
        free = Free() if inside else Free(p.uid for p in action.params)
        found = self._actions.get((action.name, free))
        if found is None or found.action is not action:
            guards = [(g, self.function(g.formula, free)) for g in action.guards]
            found = _Action(action, guards, [*self._writes(action, free)])
            self._actions[action.name, free] = found
        return found

    def _writes(self, action: Action, free: Free) -> Iterator[_Write]:
        written: set[str] = set()
        for write in action.writes:
            name, binders = write.variable.name, write.binders
            row = self._whole_row(write, free)
            if row is not None:
                binders = binders[:-1]
            condition = write.condition
            match write.value:
                case t.Ite(test=test, other=other) if (
                    name not in written
                    and other is t.Get(write.variable, write.keys)
                    and is_defined(other, free)
                ):
                    condition = t.And((condition, test))  # elsewhere the cell keeps its value
                case _:
                    pass
            keys = write.keys if row is None else write.keys[:-1]
            yield _Write(
                write,
                self._loops_of(binders, condition, free),
                self.function(write.condition, free),
                self._keys(keys, free),
                self._kept(write.value, free),
                row,
            )
            written.add(name)

    def _whole_row(self, write: t.Write, free: Free) -> Callable[[RowState, Env], Row] | None:
        if not write.binders or not write.keys or write.keys[-1] is not write.binders[-1]:
            return None
        last, outer = write.binders[-1], write.keys[:-1]
        parts = (write.condition, *outer)
        if any(last.uid in t.locals_of(part) for part in parts):
            return None
        value = write.value
        if last.uid not in t.locals_of(value):
            size, one = len(self.ranges[last.sort.name]), self._kept(value, free)
            return lambda state, env: Row.filled(size, one(state, env))
        # as in `a[k] = b[k]` for all `k`
        is_copy = (
            isinstance(value, t.Get)
            and value.keys[-1:] == (last,)
            and value.sort == write.variable.value
            and value.variable.keys[-1] == write.variable.keys[-1]
            and not any(last.uid in t.locals_of(key) for key in value.keys[:-1])
        )
        if not is_copy:
            return None
        assert isinstance(value, t.Get)
        return self._row(value, free)

    def _row(self, n: t.Get, free: Free) -> Callable[[RowState, Env], Row]:
        # The row is `a[k]`, for the term `a[k][o]`.
        name, keys = n.variable.name, self._keys(n.keys[:-1], free)
        starts = [self.ranges[key.name].start for key in n.variable.keys[:-1]]

        def row(state: RowState, env: Env) -> Row:
            found = state.held[name]
            for key, start in zip(keys(state, env), starts, strict=True):
                assert isinstance(found, Row)
                found = found[key - start]
            assert isinstance(found, Row)
            return found

        return row

    # ---- the elements that a loop visits

    def _loops_of(
        self, binders: Sequence[t.Local], formula: t.Node, free: Free
    ) -> list[tuple[int, Elements]]:
        loops = [(b.uid, self._all(b)) for b in binders[:-1]]
        if binders:
            # may leave out elements for which `formula` is false
            loops.append((binders[-1].uid, self._elements(binders[-1], formula, free)))
        return loops

    def _all(self, binder: t.Local) -> Elements:
        elements = self._interpreter.elements(binder.sort)
        return lambda state, env: elements

    def _elements(self, binder: t.Local, formula: t.Node, free: Free) -> Elements:
        if binder.sort.flavour not in ("ordered", "int"):
            return self._all(binder)
        branches = [self._branch(binder, one, free) for one in narrowed(formula, binder, free)]
        if len(branches) == 1:
            return branches[0]

        def union(state: RowState, env: Env) -> Iterable[int]:
            return sorted({element for branch in branches for element in branch(state, env)})

        return union

    def _branch(self, binder: t.Local, one: Narrowed, free: Free) -> Elements:
        elements = self._interpreter.elements(binder.sort)
        start, stop = elements.start, elements.stop
        bounds = [
            (bound.is_lower, bound.offset, self._number(bound.term, free)) for bound in one.bounds
        ]
        row = None if one.row is None else self._row(one.row, free)
        least = None if one.above is None else self._number(one.above, free)

        def branch(state: RowState, env: Env) -> Iterable[int]:
            first, end = start, stop
            for is_lower, offset, number in bounds:
                if first >= end:
                    return ()
                if is_lower:
                    first = max(first, number(state, env) + offset)
                else:
                    end = min(end, number(state, env) + offset)
            if row is None or least is None or first >= end:
                return range(first, end)
            found = row(state, env).above(least(state, env), first - start, end - start)
            return (position + start for position in found)

        return branch

    # ---- terms as functions

    def function(self, n: t.Node, free: Free) -> Eval:  # noqa: C901 - one case for each word
        """Compiles the term to a Python function. The function computes the term's value from a
        state and the values of parameters and bound variables.

        `free` has the uids of the parameters whose values may be outside their sorts. The compiled
        function checks each key and each assigned value that contains such a parameter.
        """
        match n:
            case t.Const():
                constant: Value = bool(n.value) if n.sort.flavour == "bool" else n.value
                return lambda state, env: constant
            case t.Least():
                least = self._interpreter.least(n.sort)
                return lambda state, env: least
            case t.Local():
                uid = n.uid
                return lambda state, env: env[uid]
            case t.Get():
                return self._get(n, free)
            case t.Some():
                return self._kept(n.of, free)
            case t.Plus():
                number, delta = self._number(n.of, free), n.delta
                return lambda state, env: number(state, env) + delta
            case t.Ite():
                test, then, other = (self.function(x, free) for x in (n.test, n.then, n.other))
                return lambda s, e: then(s, e) if test(s, e) else other(s, e)
            case t.Not():
                of = self.function(n.of, free)
                return lambda state, env: not of(state, env)
            case t.And():
                every = [self.function(x, free) for x in n.of]
                return lambda state, env: all(x(state, env) for x in every)
            case t.Or():
                some = [self.function(x, free) for x in n.of]
                return lambda state, env: any(x(state, env) for x in some)
            case t.Implies():
                left, right = self.function(n.left, free), self.function(n.right, free)
                return lambda state, env: not left(state, env) or bool(right(state, env))
            case t.Eq():
                left, right = self.function(n.left, free), self.function(n.right, free)
                return lambda state, env: left(state, env) == right(state, env)
            case t.Le():
                a, b = self._number(n.left, free), self._number(n.right, free)
                return lambda state, env: a(state, env) <= b(state, env)
            case t.Lt():
                a, b = self._number(n.left, free), self._number(n.right, free)
                return lambda state, env: a(state, env) < b(state, env)
            case t.Succ():
                a, b = self._number(n.left, free), self._number(n.right, free)
                return lambda state, env: a(state, env) + 1 == b(state, env)
            case t.Forall():
                body = self.function(n.body, free)
                loops = self._loops_of(n.binders, t.Not(n.body), free)
                return lambda s, e: all(body(s, inner) for inner in _loops(loops, s, e))
            case t.Exists():
                body = self.function(n.body, free)
                loops = self._loops_of(n.binders, n.body, free)
                return lambda s, e: any(body(s, inner) for inner in _loops(loops, s, e))
            case t.Count():
                body = self.function(n.body, free)
                loops = self._loops_of(n.binders, n.body, free)
                return lambda s, e: sum(bool(body(s, inner)) for inner in _loops(loops, s, e))
            case t.Extreme():
                return self._extreme(n, free)
            case _:
                assert_never(n)

    def _extreme(self, n: t.Extreme, free: Free) -> Eval:
        elements = self._interpreter.elements(n.binder.sort)
        order = elements[::-1] if n.last else elements
        body, default, uid = (
            self.function(n.body, free),
            self.function(n.default, free),
            n.binder.uid,
        )

        def extreme(state: RowState, env: Env) -> Value:
            for element in order:
                if body(state, {**env, uid: element}):
                    return element
            return default(state, env)

        return extreme

    def _get(self, n: t.Get, free: Free) -> Eval:
        name = n.variable.name
        starts = [self.ranges[key.name].start for key in n.variable.keys]
        match [(self._key(key, free), start) for key, start in zip(n.keys, starts, strict=True)]:
            case []:
                return lambda state, env: state.held[name]  # type: ignore[return-value]
            case [(key, start)]:
                return lambda s, e: s.held[name][key(s, e) - start]  # type: ignore[index,return-value]
            case [(key, start), (inner, after)]:
                return lambda s, e: s.held[name][key(s, e) - start][inner(s, e) - after]  # type: ignore[index,return-value]
            case _:
                keys = self._keys(n.keys, free)
                return lambda state, env: state[name, keys(state, env)]

    def _number(self, n: t.Node, free: Free) -> Callable[[RowState, Env], int]:
        value = self.function(n, free)
        if n.sort.optional or n.sort.flavour == "bool":
            return lambda state, env: int(value(state, env) or 0)
        return value  # type: ignore[return-value]

    def _key(self, n: t.Node, free: Free) -> Callable[[RowState, Env], int]:
        kept = self._kept(n, free)
        return lambda state, env: int(kept(state, env) or 0)

    def _keys(self, keys: Sequence[t.Node], free: Free) -> Keys:
        every = [self._key(key, free) for key in keys]
        return lambda state, env: tuple([key(state, env) for key in every])

    def _kept(self, n: t.Node, free: Free) -> Eval:
        value = self.function(n, free)
        if n.sort.flavour == "bool" or is_defined(n, free):
            return value
        elements, interpreter = self._interpreter.elements(n.sort), self._interpreter

        def kept(state: RowState, env: Env) -> Value:
            found = value(state, env)
            if found is None or found in elements:
                return found
            return interpreter.kept(n, state, env)  # raises Undefined, with the term's text

        return kept


def _bound(action: Action, values: Sequence[int]) -> Env:
    return {p.uid: v for p, v in zip(action.params, values, strict=True)}


def _loops(loops: Sequence[tuple[int, Elements]], state: RowState, env: Env) -> Iterator[Env]:
    if not loops:
        yield env
        return
    (uid, elements), *inner = loops
    for element in elements(state, env):
        yield from _loops(inner, state, {**env, uid: element})


def _put(held: Held, at: Sequence[int], value: Held) -> Held:
    if not at:
        return value
    assert isinstance(held, Row)
    position, *inner = at
    return held.put(position, _put(held[position], inner, value) if inner else value)
