"""Compiled code and the reference interpreter say the same of random terms and random actions.

Integers may leave their sort here, cells may be written twice, a bounded `for` may leave some out:
the corners where two readings of a language drift apart. "Undefined" is an answer like another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance, Packed
from model.language import Int, Map, Nothing, Ordered, Scope, Set, Sort, Spec
from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.binding import close
from model.language.meaning import Meaning, State, Undefined
from model.language.words import conjunction

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Node(Sort):
    pass


class Rank(Ordered):
    pass


class Offset(Int):
    pass


class Small(Spec):
    """A state with one of everything."""

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
MEANING = Meaning.of(SMALL)
VARIABLES = {v.name: v for v in SMALL.variables}
PLAIN = (t.BOOL, Node.info, Rank.info, Offset.info)
MAYBE = t.SortInfo("Node", "sort", optional=True)
PEAK = t.SortInfo("Offset", "int", optional=True)


def states() -> st.SearchStrategy[State]:
    """Any state, reachable or not."""
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
    """A term of the sort over the locals in scope."""
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
                return t.Le(t.Count(*scoped), t.Const(draw(st.integers(0, 3)), t.NUMBER))
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
    """An action of up to two parameters with guards, repeated, conditional and bounded writes."""
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
    """The small spec with these actions in the place of its own."""
    spec = Small()
    spec.__dict__["actions"] = made
    return spec


PROGRAM = Program(Instance.of(SMALL))


def interpreted(formula: t.Node, state: State) -> bool | str:
    try:
        return MEANING.holds(formula, state)
    except Undefined:
        return "undefined"


def compiled(formula: t.Node, state: State) -> bool | str:
    try:
        return bool(PROGRAM.predicate(formula)(PROGRAM.at.pack(state)))
    except Undefined:
        return "undefined"


@settings(max_examples=600, deadline=None)
@given(formula=terms(t.BOOL, depth=4), state=states())
def test_of_a_random_formula(formula: t.Node, state: State) -> None:
    assert compiled(formula, state) == interpreted(formula, state)


@settings(max_examples=400, deadline=None)
@given(first=actions(), second=actions(), state=states())
def test_of_random_actions(first: Action, second: Action, state: State) -> None:
    spec = spec_of(first, second)
    program = Program(Instance.of(spec))
    assert successors(program, program.at.pack(state)) == steps(spec, state)


Found = list[tuple[tuple[int, ...], State]] | str


def successors(program: Program, state: Packed) -> Found:
    out: list[tuple[int, Packed]] = []
    try:
        program.successors(state, out.append)
    except Undefined:
        return "undefined"
    return [(program.labels[label][1], program.at.unpack(after)) for label, after in out]


def steps(spec: Spec, state: State) -> Found:
    try:
        return [(values, after) for _, values, after in MEANING.steps(spec, state)]
    except Undefined:
        return "undefined"


def test_the_later_write_wins_and_a_cell_left_out_keeps_the_earlier() -> None:
    """First all are set to false, then those ranked least to true: the others stay false."""
    up, rank = (v for v in SMALL.variables if v.name in {"up", "rank"})
    z = t.Local(up.keys[0], "z")
    true, false = t.Const(1, t.BOOL), t.Const(0, t.BOOL)
    is_least = t.Eq(t.Get(rank, (z,)), t.Least(rank.value))
    action = Action("reset", "", ())
    action.writes = [
        t.Write(up, (z,), (z,), true, false),
        t.Write(up, (z,), (z,), is_least, true),
    ]
    before: State = {**MEANING.initial(SMALL)[0], ("rank", (1,)): 1, ("up", (1,)): True}
    after = MEANING.step(action, before)
    assert after is not None
    assert (after["up", (0,)], after["up", (1,)]) == (True, False)
    program = Program(Instance.of(spec_of(action)))
    assert successors(program, program.at.pack(before)) == [((), after)]
