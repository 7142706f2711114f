"""Compiled Python and the reference interpreter agree on random terms and random actions."""

from __future__ import annotations

from hypothesis import given, settings

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance, Packed
from model.language import terms as t
from model.language.actions import Action
from model.language.interpreter import State, Undefined, joined
from tests.checkers.explicit.random_programs import (
    MEANING,
    SMALL,
    Found,
    about_steps,
    actions,
    interpreted,
    spec_of,
    states,
    steps,
    terms,
)

PROGRAM = Program(Instance.of(SMALL))


def compiled(formula: t.Node, state: State) -> bool | str:
    try:
        return bool(PROGRAM.predicate(formula)(PROGRAM.at.pack(state)))
    except Undefined:
        return "undefined"


@settings(max_examples=600, deadline=None)
@given(formula=terms(t.BOOL, depth=4), state=states())
def test_random_formulas_agree_with_the_interpreter(formula: t.Node, state: State) -> None:
    assert compiled(formula, state) == interpreted(formula, state)


@settings(max_examples=300, deadline=None)
@given(formula=about_steps(), before=states(), after=states())
def test_random_formulas_about_steps_agree_with_the_interpreter(
    formula: t.Node, before: State, after: State
) -> None:
    expected = interpreted(formula, joined(before, after))
    pack = PROGRAM.at.pack
    try:
        assert bool(PROGRAM.predicate(formula)(pack(before) + pack(after))) == expected
    except Undefined:
        assert expected == "undefined"


@settings(max_examples=400, deadline=None)
@given(first=actions(), second=actions(), state=states())
def test_random_actions_agree_with_the_interpreter(
    first: Action, second: Action, state: State
) -> None:
    spec = spec_of(first, second)
    program = Program(Instance.of(spec))
    assert successors(program, program.at.pack(state)) == steps(spec, state)


def successors(program: Program, state: Packed) -> Found:
    out: list[tuple[int, Packed]] = []
    try:
        program.successors(state, out.append)
    except Undefined:
        return "undefined"
    return [(program.labels[label][1], program.at.unpack(after)) for label, after in out]


def test_the_later_write_wins_and_a_cell_left_out_keeps_the_earlier() -> None:
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
