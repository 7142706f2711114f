"""The stepper takes the same steps as the interpreter, but does not visit all elements of a sort.

A sort is a type of a spec, such as `Slot`. If only some of its elements matter, a step visits only
these.
"""

from __future__ import annotations

import time
from random import Random

import pytest

from model.language import (
    Int,
    Map,
    Scope,
    Sort,
    Spec,
    action,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    ite,
    when,
)
from model.language.actions import Action
from model.language.interpreter import Interpreter, State, Undefined
from model.language.rows import SIZE, Row, RowState
from model.language.stepping import Stepper
from model.specs import all_variants
from model.variants import Variant

STEPS = 12  # of each walk
TRIED = 15  # calls in each state
VERSIONS = [variant for variant in all_variants() if variant.kind == "version"]


def after_by_oracle(
    interpreter: Interpreter, action: Action, state: State, values: tuple[int, ...]
) -> State | str | None:
    try:
        return interpreter.step(action, state, values)
    except Undefined as fault:
        return str(fault)


def after_by_stepper(
    stepper: Stepper, action: Action, state: RowState, values: tuple[int, ...]
) -> State | str | None:
    try:
        after = stepper.step(action, state, values)
    except Undefined as fault:
        return str(fault)
    return None if after is None else dict(after)


def walk(spec: Spec, interpreter: Interpreter, rng: Random) -> int:
    stepper = Stepper.of(spec, interpreter.ranges)
    variables = {v.name: v for v in spec.variables}
    initial = interpreter.initial(spec)
    state, steps = rng.choice(initial), 0
    for _ in range(STEPS):
        rows = RowState.of(state, variables, interpreter.ranges)
        assert dict(rows) == state
        enabled: list[State] = []
        calls = [(a, values) for a in spec.actions for values in interpreter.calls(a)]
        for tried, (act, values) in enumerate(rng.sample(calls, len(calls))):
            if tried >= TRIED and enabled:
                break
            if rng.randrange(10) == 0:  # an argument outside of its sort
                values = tuple(v + rng.choice((-1, 0, 1)) for v in values)
            expected = after_by_oracle(interpreter, act, state, values)
            found = after_by_stepper(stepper, act, rows, values)
            assert found == expected, f"{act.name}{values}"
            if isinstance(expected, dict):
                enabled.append(expected)
            elif expected is None:
                guard = stepper.why_disabled(act, rows, values)
                assert guard is interpreter.why_disabled(act, state, values)
        state = rng.choice(enabled or initial)
        steps += bool(enabled)
    return steps


@pytest.mark.parametrize("variant", VERSIONS, ids=lambda v: f"{v.spec}-{v.name}")
def test_random_steps_of_every_spec_are_those_of_the_interpreter(variant: Variant) -> None:
    spec = variant.make()
    steps = walk(spec, Interpreter.of(spec), Random(f"{variant.spec} {variant.name}"))
    assert steps >= STEPS // 2


def test_the_initial_states_are_those_of_the_interpreter() -> None:
    for variant in VERSIONS:
        if not variant.default:
            continue
        spec = variant.make()
        interpreter = Interpreter.of(spec)
        stepper = Stepper.of(spec, interpreter.ranges)
        blank = dict(stepper.blank())
        begun = 0
        for values in interpreter.calls(spec.initial)[:30]:
            expected = interpreter.step(spec.initial, blank, values)
            found = stepper.step(spec.initial, stepper.blank(), values)
            assert (None if found is None else dict(found)) == expected
            begun += expected is not None
        assert begun > 0, variant.spec


# ---------------------------------------------------------------- narrowing


class Slot(Int):
    pass


class Node(Sort):
    pass


class Narrow(Spec):
    """A spec whose quantifiers and loops use only a small part of a large sort."""

    low: Slot
    high: Slot
    value: Map[Slot, Slot]
    copy: Map[Node, Map[Slot, Slot]]

    def scope(s) -> Scope:
        return {Slot: 5, Node: 2}

    def init(s) -> None: ...

    @action
    def set_ends(s, low: Slot, high: Slot) -> None:
        s.low = low
        s.high = high

    @action
    def set_value(s, at: Slot, value: Slot) -> None:
        s.value[at] = value

    @action
    def fill(s, value: Slot) -> None:
        for o in Slot:
            inside = (s.low <= o) & (o < s.high)
            beyond = (s.high <= o) & (value < s.value[o])
            s.value[o] = ite(inside | beyond, value, s.value[o])

    @action
    def strict(s) -> None:
        for o in Slot:
            s.value[o] = ite((s.low < o) & ~(s.high <= o), s.low, s.value[o])

    @action
    def keep(s, node: Node) -> None:
        s.copy[node] = s.value
        s.copy[node][s.low] = s.high

    @action
    def only_if_all(s) -> None:
        when(forall(implies((s.low <= o) & (o <= s.high), s.value[o] == s.low) for o in Slot))
        s.low = s.high

    @action
    def only_if_none(s) -> None:
        when(forall(any_of(o < s.low, ~(o < s.high), s.value[o] < s.high) for o in Slot))
        when(~exists(all_of(s.high < o, s.low < s.value[o]) for o in Slot))
        s.high = s.low

    @action
    def can_be_undefined(s, at: Slot) -> None:
        when(exists(all_of(s.value[o + 1] == s.low, o < at) for o in Slot))
        s.low = at


def test_narrowed_loops_and_quantifiers_agree_with_the_interpreter() -> None:
    spec = Narrow()
    interpreter = Interpreter.of(spec)
    for seed in range(30):
        walk(spec, interpreter, Random(seed))


def test_a_step_does_not_visit_all_values_of_a_sort() -> None:
    """With 100 times as many values of the sort `Slot`, steps take less than 30 times as long."""
    spec = Narrow()
    actions = {a.name: a for a in spec.actions}
    cpu: dict[int, float] = {}
    for size in (2_000, 200_000):
        stepper = Stepper.of(spec, {"Bool": range(2), "Slot": range(size), "Node": range(2)})
        state = stepper.blank()
        start = time.process_time()
        for k in range(size - 500, size - 1):
            for name, values in (("set_ends", (k, k + 1)), ("fill", (3,)), ("strict", ())):
                after = stepper.step(actions[name], state, values)
                assert after is not None
                state = after
        cpu[size] = time.process_time() - start
        assert state["value", (size - 10,)] == 3
        assert state["value", (size - 600,)] == 0
    assert cpu[200_000] < 30 * cpu[2_000]


# ---------------------------------------------------------------- rows


def test_a_row_that_is_changed_leaves_the_row_before_as_it_was() -> None:
    row = Row.filled(3 * SIZE + 5, 0)
    changed = row.put(SIZE + 1, 7).put(3 * SIZE + 4, 9)
    assert len(changed) == len(row) == 3 * SIZE + 5
    assert set(row) == {0}
    assert [k for k, value in enumerate(changed) if value] == [SIZE + 1, 3 * SIZE + 4]
    assert [changed[SIZE + 1], changed[SIZE + 2], changed[3 * SIZE + 4]] == [7, 0, 9]


@pytest.mark.parametrize("seed", range(5))
def test_positions_above_a_bound_are_found_after_any_changes(seed: int) -> None:
    rng = Random(seed)
    row, values = Row.filled(4 * SIZE + 3, 0), [0] * (4 * SIZE + 3)
    for _ in range(100):
        at, value = rng.randrange(len(values)), rng.randrange(9)
        row, values[at] = row.put(at, value), value
        bound, start, stop = rng.randrange(9), rng.randrange(300), rng.randrange(300)
        stop = min(stop, len(values))
        expected = [k for k in range(start, stop) if values[k] > bound]
        assert [*row.above(bound, start, stop)] == expected


def test_a_cell_that_does_not_exist_is_a_key_error() -> None:
    state = Stepper.of(Narrow(), Interpreter.of(Narrow()).ranges).blank()
    assert ("value", (4,)) in state
    assert ("value", (5,)) not in state
    assert ("value", (-1,)) not in state
