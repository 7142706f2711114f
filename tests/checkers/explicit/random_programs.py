"""Generates random terms, actions and specs over one small state, to compare two engines.

Some terms and actions are those on which engines could differ: for example, an integer outside the
range of its type, or a variable that is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from model.language import Int, Map, Nothing, Ordered, Scope, Set, Sort, Spec
from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.binding import close, rebuilt
from model.language.expressions import conjunction
from model.language.interpreter import Interpreter, State, Undefined

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Node(Sort):
    pass


class Rank(Ordered):
    pass


class Offset(Int):
    pass


class Small(Spec):
    """A spec without actions, whose state has a variable of every kind."""

    up: Set[Node]
    rank: Map[Node, Rank]
    end: Map[Node, Offset]
    owner: Map[Offset, Node | Nothing]
    mark: Offset
    peak: Offset | Nothing

    def scope(s) -> Scope:
        return {Node: 2, Rank: 2, Offset: range(-1, 2)}

    def init(s) -> None:
        s.mark = Offset(0)


SMALL = Small()
MEANING = Interpreter.of(SMALL)
VARIABLES = {v.name: v for v in SMALL.variables}
PLAIN = (t.BOOL, Node.info, Rank.info, Offset.info)
MAYBE = t.SortInfo("Node", "sort", optional=True)
PEAK = t.SortInfo("Offset", "int", optional=True)


def states() -> st.SearchStrategy[State]:
    """Generates states: any values for the variables, reachable or not."""
    cells = {}
    for v in VARIABLES.values():
        elements = list(MEANING.elements(v.value))
        values: list[Any] = [bool(e) for e in elements] if v.value == t.BOOL else elements
        values += [None] if v.value.optional else []
        for keys in _keys(v):
            cells[v.name, keys] = st.sampled_from(values)
    return st.fixed_dictionaries(cells)


def _keys(v: t.Variable) -> Sequence[tuple[int, ...]]:
    return [()] if not v.keys else [(k,) for k in MEANING.elements(v.keys[0])]


@st.composite
def terms(draw: Draw, sort: t.SortInfo, scope: Sequence[t.Local] = (), depth: int = 3) -> t.Node:  # noqa: C901 - a case a kind of term
    """Generates a term of the given sort; it may use the local variables in `scope`."""
    kinds = ["leaf", "get"]
    if depth:
        kinds += ["ite", "get"]
        kinds += {
            "bool": ["join", "compare", "quantify", "not"] * 2,
            "int": ["plus", "extreme"] * 2,
        }.get(sort.flavour if not sort.optional else "", [])
        kinds += ["some"] * 2 if sort.optional else []
    kind = draw(st.sampled_from(kinds))
    below = depth - 1 if depth else 0

    def some(of: t.SortInfo, more: Sequence[t.Local] = ()) -> t.Node:
        made: t.Node = draw(terms(of, [*scope, *more], below))
        return made

    match kind:
        case "leaf":
            return _leaf(draw, sort, scope)
        case "get":
            fitting = [v for v in VARIABLES.values() if v.value == sort]
            if not fitting or (not depth and any(v.keys for v in fitting)):
                return _leaf(draw, sort, scope)
            v = draw(st.sampled_from(fitting))
            return t.Get(v, tuple(some(k) for k in v.keys))
        case "ite":
            return t.Ite(some(t.BOOL), some(sort), some(sort))
        case "some":
            return t.Some(some(t.SortInfo(sort.name, sort.flavour)))
        case "plus":
            return t.Plus(some(sort), draw(st.integers(-2, 2)))
        case "extreme":
            binder = t.Local(sort, "x")
            (chosen,), body = close((binder,), some(t.BOOL, [binder]))
            assert isinstance(chosen, t.Local)
            return t.Extreme(chosen, body, some(sort), draw(st.booleans()))
        case "not":
            return t.Not(some(t.BOOL))
        case "join":
            join = draw(st.sampled_from([t.And, t.Or]))
            if draw(st.booleans()):
                return t.Implies(some(t.BOOL), some(t.BOOL))
            made: t.Node = join(tuple(some(t.BOOL) for _ in range(draw(st.integers(0, 3)))))
            return made
        case "quantify":
            binders = [
                t.Local(draw(st.sampled_from(PLAIN)), "xy"[k])
                for k in range(draw(st.integers(1, 2)))
            ]
            quantifier = draw(st.sampled_from([t.Forall, t.Exists, t.Count]))
            scoped = close(binders, some(t.BOOL, binders))
            if quantifier is t.Count:
                counted = t.Count(*scoped)
                if draw(st.booleans()):
                    return t.Le(some(draw(st.sampled_from([Rank.info, Offset.info]))), counted)
                return t.Le(counted, t.Const(draw(st.integers(0, 3)), t.NUMBER))
            quantified: t.Node = quantifier(*scoped)
            return quantified
        case _:
            operator = draw(st.sampled_from([t.Eq, t.Lt, t.Le, t.Succ]))
            of = draw(
                st.sampled_from(
                    [*PLAIN, MAYBE, PEAK] if operator is t.Eq else [Rank.info, Offset.info]
                )
            )
            compared: t.Node = operator(some(of), some(of))
            return compared


def _leaf(draw: Draw, sort: t.SortInfo, scope: Sequence[t.Local]) -> t.Node:
    leaves: list[t.Node] = [t.Least(sort), *(x for x in scope if x.sort == sort)]
    if sort == t.BOOL:
        leaves += [t.Const(0, sort), t.Const(1, sort)]
    if sort == Offset.info:
        leaves += [t.Const(k, sort) for k in range(-2, 3)]
    return draw(st.sampled_from(leaves))  # type: ignore[no-any-return] # hypothesis types draw as Any


@st.composite
def actions(draw: Draw) -> Action:
    """Generates an action with up to two parameters, some guards, and writes of all kinds."""
    sorts = draw(st.lists(st.sampled_from(PLAIN[1:]), max_size=2))
    params = tuple(t.Local(sort, f"p{k}") for k, sort in enumerate(sorts))
    guards = [
        Guard(g, k) for k, g in enumerate(draw(st.lists(terms(t.BOOL, params, 2), max_size=2)))
    ]
    made = Action("random", "", params, guards)
    for line in range(draw(st.integers(1, 4))):
        made.writes.append(draw(_writes(params, line)))
    return made


@st.composite
def _writes(draw: Draw, params: Sequence[t.Local], line: int) -> t.Write:
    variable = draw(st.sampled_from(list(VARIABLES.values())))
    binders = tuple(t.Local(k, "z") for k in variable.keys if draw(st.booleans()))
    scope = [*params, *binders]
    keys = binders or tuple(draw(terms(k, scope, 1)) for k in variable.keys)
    ranges = (draw(terms(t.BOOL, scope, 2)),) if binders and draw(st.booleans()) else ()
    value = draw(terms(variable.value, scope, 2))
    return t.Write(variable, keys, binders, conjunction(ranges), value, line)


def spec_of(*made: Action) -> Small:
    spec = Small()
    spec.__dict__["actions"] = made
    return spec


@st.composite
def about_steps(draw: Draw) -> t.Node:
    """Generates a formula about one step of the spec: the values before and after the step."""

    def change(n: t.Node) -> t.Node:
        made = n if isinstance(n, t.Local) else rebuilt(n, change)
        if isinstance(made, t.Get) and draw(st.booleans()):
            return t.Get(made.variable.after, made.keys)
        return made

    return change(draw(terms(t.BOOL, depth=3)))


Found = list[tuple[tuple[int, ...], State]] | str  # what an action leads to; or undefined


def interpreted(formula: t.Node, state: State) -> bool | str:
    try:
        return MEANING.holds(formula, state)
    except Undefined:
        return "undefined"


def steps(spec: Spec, state: State) -> Found:
    try:
        return [(values, after) for _, values, after in MEANING.steps(spec, state)]
    except Undefined:
        return "undefined"
