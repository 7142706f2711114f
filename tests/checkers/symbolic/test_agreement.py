"""Z3 and the reference interpreter agree on random formulas and random actions.

The states are random states of a small scope that has every kind of sort. Every Z3 query has a time
limit.
"""

from __future__ import annotations

from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.symbolic.limits import Expr, Solver
from checkers.symbolic.sorts import Finite, Sorts, Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation, Valuation
from model.language import Bool, Map, Nothing, Ordered, Set, Sort, Spec
from model.language import terms as t
from model.language.actions import Action, Guard
from model.language.interpreter import Cell, Interpreter, State, Value

LIMIT_MS = 5_000
BRIEFLY_MS = 200  # where Z3 may instantiate for ever
MANY = settings(max_examples=150, deadline=None)
FEW = settings(max_examples=50, deadline=None)


class Node(Sort):
    """An unordered type."""


class Turn(Ordered):
    """Turns, an ordered sort."""


class Game(Spec):
    """A spec with state variables of each kind, and without actions."""

    turn: Turn
    won: Bool
    owner: Map[Turn, Node]
    best: Map[Node, Turn]
    leader: Map[Node, Node | Nothing]
    seen: Map[Node, Set[Turn]]


SCOPE = {"Node": 2, "Turn": 3}
GAME = Game()
MEANING = Interpreter.of(GAME, SCOPE)
NODE, TURN = t.SortInfo("Node", "sort"), t.SortInfo("Turn", "ordered")
MAYBE = t.SortInfo("Node", "sort", optional=True)
CELLS: list[tuple[Cell, t.SortInfo]] = [
    ((v.name, keys), v.value)
    for v in GAME.variables
    for keys in product(*(MEANING.elements(key) for key in v.keys))
]


def variable(name: str) -> t.Variable:
    return next(v for v in GAME.variables if v.name == name)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Generates a state: each variable maps each of its keys to any value of the right sort."""

    def value(info: t.SortInfo) -> Value:
        if info.flavour == "bool":
            return draw(st.booleans())
        values: list[Value] = [*MEANING.elements(info), *([None] if info.optional else [])]
        return draw(st.sampled_from(values))

    return {cell: value(info) for cell, info in CELLS}


@st.composite
def terms(draw: st.DrawFn, info: t.SortInfo, names: tuple[t.Local, ...], depth: int) -> t.Node:
    """Generates a term of any sort except Bool, with the free variables `names`."""
    leaves: list[t.Node] = [name for name in names if name.sort == info]
    if info == TURN:
        leaves += [t.Least(TURN), t.Get(variable("turn"), ())]
    if info == MAYBE:
        leaves += [t.Least(MAYBE)]
    makers = [st.sampled_from(leaves)] if leaves else []
    if depth > 0 or not leaves:
        less = max(depth - 1, 0)
        reads = {NODE: ("owner", TURN), TURN: ("best", NODE), MAYBE: ("leader", NODE)}
        name, key = reads[info]
        makers += [terms(key, names, less).map(lambda k: t.Get(variable(name), (k,)))]
        if info == MAYBE:
            makers += [terms(NODE, names, less).map(t.Some)]
        if depth > 0:
            both = terms(info, names, less)
            makers += [st.builds(t.Ite, formulas(names, less), both, both)]
    return draw(st.one_of(makers))


@st.composite
def formulas(draw: st.DrawFn, names: tuple[t.Local, ...], depth: int) -> t.Node:
    """Generates a formula with the free variables `names`."""
    less = max(depth - 1, 0)
    seen = st.builds(lambda n, x: t.Get(variable("seen"), (n, x)), *map_terms((NODE, TURN), names))
    makers: list[st.SearchStrategy[t.Node]] = [
        st.sampled_from([t.Const(0, t.BOOL), t.Const(1, t.BOOL), t.Get(variable("won"), ())]),
        seen,
        st.sampled_from([NODE, TURN, MAYBE]).flatmap(
            lambda info: st.builds(t.Eq, terms(info, names, less), terms(info, names, less))
        ),
        orders(names),
    ]
    if depth > 0:
        part = formulas(names, less)
        many = st.lists(part, max_size=3).map(tuple)
        makers += [part.map(t.Not), many.map(t.And), many.map(t.Or)]
        makers += [st.builds(t.Implies, part, part), quantified(names, less)]
    return draw(st.one_of(makers))


@st.composite
def orders(draw: st.DrawFn, names: tuple[t.Local, ...]) -> t.Node:
    left, right = (draw(terms(TURN, names, 1)) for _ in "lr")
    words: list[t.Node] = [t.Le(left, right), t.Lt(left, right), t.Succ(left, right)]
    return draw(st.sampled_from(words))


def map_terms(
    infos: tuple[t.SortInfo, ...], names: tuple[t.Local, ...]
) -> list[st.SearchStrategy[t.Node]]:
    return [terms(info, names, 0) for info in infos]


@st.composite
def quantified(draw: st.DrawFn, names: tuple[t.Local, ...], depth: int) -> t.Node:
    bound = draw(st.lists(st.sampled_from([NODE, TURN]), min_size=1, max_size=2))
    binders = tuple(t.Local(info, f"b{len(names) + i}") for i, info in enumerate(bound))
    body = draw(formulas((*names, *binders), depth))
    return t.Forall(binders, body) if draw(st.booleans()) else t.Exists(binders, body)


@st.composite
def counted(draw: st.DrawFn) -> t.Node:
    """Generates a formula which states that the number of nodes with some property is at least the
    number of a turn.
    """
    node = t.Local(NODE, "n")
    turn = draw(terms(TURN, (), 2))
    return t.Le(turn, t.Count((node,), draw(formulas((node,), 2))))


@st.composite
def actions(draw: st.DrawFn) -> Action:
    """Generates an action that writes state variables: for one key, or in a loop over many keys."""
    params = (t.Local(NODE, "n"), t.Local(TURN, "x"))
    writes = [draw(assignments(params)) for _ in range(draw(st.integers(1, 4)))]
    guard = Guard(draw(formulas(params, 2)), 0)
    return Action("random", "", params, [guard], writes)


@st.composite
def assignments(draw: st.DrawFn, params: tuple[t.Local, ...]) -> t.Write:
    v = draw(st.sampled_from(GAME.variables))
    turns = [draw(st.booleans()) for _ in v.keys]
    loops = tuple(t.Local(k, f"k{i}") for i, k in enumerate(v.keys) if turns[i])
    names = (*params, *loops)
    looped = {loop.name: loop for loop in loops}
    keys = tuple(looped.get(f"k{i}") or draw(terms(k, params, 1)) for i, k in enumerate(v.keys))
    everywhere = not loops or draw(st.booleans())
    condition: t.Node = t.Const(1, t.BOOL) if everywhere else draw(formulas(names, 1))
    boolean = v.value.flavour == "bool"
    value: t.Node = draw(formulas(names, 1) if boolean else terms(v.value, names, 1))
    return t.Write(v, keys, loops, condition, value, 0)


# ---- the same state in Z3


def constant(sorts: Sorts, elements: dict[str, list[Expr]], info: t.SortInfo, v: Value) -> Expr:
    if info.flavour == "bool":
        return z3.BoolVal(bool(v), ctx=sorts.context)
    if v is None:
        return sorts.least(info)
    element = elements[info.name][int(v)]
    return sorts.some(info, element) if info.optional else element


def pinned(step: Step, elements: dict[str, list[Expr]], state: State) -> list[Expr]:
    """Returns Z3 formulas which state that, before the step, each state variable has its value in
    `state`.
    """
    facts: list[Expr] = []
    for (name, keys), info in CELLS:
        v = variable(name)
        at = [elements[key.name][k] for key, k in zip(v.keys, keys, strict=True)]
        value = constant(step.sorts, elements, info, state[name, keys])
        facts.append(step.before.at(v, at) == value)
    return facts


def finite() -> tuple[Step, dict[str, list[Expr]]]:
    sorts = Finite(MEANING.ranges)
    elements = {info.name: list(sorts.elements(info)) for info in (NODE, TURN)}
    return Step(GAME, Translation(sorts)), elements


def closed() -> tuple[Step, dict[str, list[Expr]]]:
    """Returns a step of the spec as Z3 formulas with unbounded sorts, and the elements of each
    sort.

    Nothing limits the sorts by themselves. So axioms limit each sort to these few elements, which
    are Z3 constants. With the axioms, Z3 has the same states as the interpreter.
    """
    sorts, elements = Unbounded(), dict[str, list[Expr]]()
    for info in (NODE, TURN):
        sort = sorts.of(info)
        these = [z3.Const(f"{info.name}{i}", sort) for i in MEANING.elements(info)]
        other = z3.Const("other", sort)
        sorts.axioms += [
            z3.Distinct(*these),
            z3.ForAll([other], z3.Or([other == e for e in these])),
        ]
        elements[info.name] = these
    ordered = zip(elements["Turn"], elements["Turn"][1:], strict=False)
    sorts.axioms += [sorts.at_most(TURN, a, b) for a, b in ordered]
    return Step(GAME, Translation(sorts)), elements


def answer(step: Step, facts: list[Expr], limit_ms: int = LIMIT_MS) -> str:
    solver = Solver(step.sorts.context, limit_ms=limit_ms)
    solver.add([*step.sorts.axioms, *facts])
    return solver.check().verdict


# ---- they agree


@MANY
@given(formula=st.one_of(quantified((), 2), formulas((), 3), counted()), state=states())
def test_a_formula_has_the_same_value_in_z3_at_a_finite_scope(
    formula: t.Node, state: State
) -> None:
    step, elements = finite()
    translated = step.formula(formula, step.before)
    expected = MEANING.holds(formula, state)
    differs = translated != z3.BoolVal(expected, ctx=step.sorts.context)
    assert answer(step, [*pinned(step, elements, state), differs]) == "unsat"


@FEW
@given(formula=st.one_of(quantified((), 1), formulas((), 2)), state=states())
def test_the_unbounded_translation_agrees_for_closed_sorts(formula: t.Node, state: State) -> None:
    """The translation for unbounded sorts agrees with the interpreter if axioms limit the sorts.

    The axioms allow only the elements that the interpreter has. Z3 may answer "unknown" if the
    formula has a quantifier.
    """
    step, elements = closed()
    translated = step.formula(formula, step.before)
    expected = MEANING.holds(formula, state)
    differs = translated != z3.BoolVal(expected, ctx=step.sorts.context)
    assert answer(step, [*pinned(step, elements, state), differs], BRIEFLY_MS) != "sat"


@pytest.mark.parametrize("left", range(3))
@pytest.mark.parametrize("right", range(3))
def test_an_unbounded_order_is_the_order_of_its_elements(left: int, right: int) -> None:
    step, elements = closed()
    a, b = elements["Turn"][left], elements["Turn"][right]
    for translated, expected in (
        (step.sorts.at_most(TURN, a, b), left <= right),
        (step.sorts.comes_next(TURN, a, b), right == left + 1),
        (a == step.sorts.least(TURN), left == 0),
    ):
        assert answer(step, [translated]) == ("sat" if expected else "unsat")


@MANY
@given(action=actions(), state=states(), node=st.integers(0, 1), turn=st.integers(0, 2))
def test_a_step_leads_to_the_same_state(action: Action, state: State, node: int, turn: int) -> None:
    step, elements = finite()
    env = step.arguments(action)
    chosen = {"n": elements["Node"][node], "x": elements["Turn"][turn]}
    facts = [env[p.uid] == chosen[p.name] for p in action.params] + pinned(step, elements, state)
    after = MEANING.step(action, state, (node, turn))
    enabled = z3.And(*step.guard(action), step.sorts.context)
    if after is None:
        assert answer(step, [*facts, enabled]) == "unsat"
        return
    differences = [z3.Not(enabled)]
    reached: Valuation = step.after(action)
    for (name, keys), info in CELLS:
        v = variable(name)
        at = [elements[key.name][k] for key, k in zip(v.keys, keys, strict=True)]
        value = constant(step.sorts, elements, info, after[name, keys])
        differences.append(reached.at(v, at) != value)
    assert answer(step, [*facts, z3.Or(differences)]) == "unsat"


def test_the_comparison_notices_a_difference() -> None:
    step, elements = finite()
    here = {cell: MEANING.least(info) for cell, info in CELLS}
    won = step.formula(t.Get(variable("won"), ()), step.before)
    assert answer(step, [*pinned(step, elements, here), won]) == "unsat"
    there = {**here, ("won", ()): True}
    assert answer(step, [*pinned(step, elements, there), won]) == "sat"
