"""The reference interpreter follows each rule of the specification language."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    all_of,
    any_of,
    count,
    everything,
    exists,
    false,
    first,
    forall,
    greatest_of,
    iff,
    implies,
    invariant,
    ite,
    last,
    least_of,
    nothing,
    true,
    when,
)
from model.language.explain import why_false
from model.language.interpreter import Interpreter, State, Undefined
from model.language.show import show


class Node(Sort):
    pass


class Rank(Ordered):
    pass


class Offset(Int):
    pass


class Entry(Record):
    owner: Node | Nothing
    at: Offset


class Log(Spec):
    entry: Map[Node, Entry]
    up: Set[Node]
    rank: Rank
    end: Offset
    mark: Set[Offset]
    limit: Offset | Nothing

    def scope(s) -> Scope:
        return {Node: 2, Rank: 3, Offset: range(-1, 3)}

    def init(s, someone: Node) -> None:
        s.up = everything(Node) - {someone}
        s.end = Offset(0)

    @action
    def swap(s, a: Node, b: Node) -> None:
        when(a != b)
        at_a, at_b = s.entry[a].at, s.entry[b].at
        s.entry[a].at = at_b
        s.entry[b].at = at_a

    @action
    def claim(s, a: Node, rank: Rank) -> None:
        when(s.up[a], rank.is_next_after(s.rank), s.entry[a].owner == nothing)
        s.entry[a] = Entry(owner=a, at=s.end)
        s.rank = rank
        s.end = s.end + 1

    @invariant
    def owners_are_up(s) -> Bool:
        return forall(implies(s.entry[a].owner == a, s.up[a] & (s.end < 2)) for a in Node)


SPEC = Log()
AT = Interpreter.of(SPEC)
SWAP, CLAIM = SPEC.actions


def start() -> State:
    return AT.initial(SPEC)[0]


def test_a_cell_that_init_leaves_out_has_its_least_value() -> None:
    states = AT.initial(SPEC)
    assert [(s["up", (0,)], s["up", (1,)]) for s in states] == [(False, True), (True, False)]
    assert (states[0]["rank", ()], states[0]["end", ()]) == (0, 0)
    assert states[0]["entry.owner", (0,)] is None
    assert states[0]["entry.at", (0,)] == -1


def test_a_disabled_step_names_the_false_conjunct() -> None:
    after = AT.step(CLAIM, start(), (1, 1))
    assert after is not None
    assert (after["entry.owner", (1,)], after["entry.at", (1,)]) == (1, 0)
    assert (after["rank", ()], after["end", ()]) == (1, 1)
    assert AT.step(CLAIM, start(), (0, 1)) is None
    assert str(AT.why_disabled(CLAIM, start(), (1, 2))) == "rank comes next after rank"
    assert str(AT.why_disabled(CLAIM, after, (1, 2))) == "entry.owner[a] == nothing"
    assert str(AT.why_disabled(CLAIM, start(), (0, 1))) == "up[a]"
    assert AT.why_disabled(CLAIM, start(), (1, 1)) is None


def test_writes_happen_together() -> None:
    before: State = {**start(), ("entry.at", (0,)): 1, ("entry.at", (1,)): 2}
    after = AT.step(SWAP, before, (0, 1))
    assert after == {**before, ("entry.at", (0,)): 2, ("entry.at", (1,)): 1}


def test_an_assignment_outside_its_sort_is_undefined() -> None:
    full: State = {**start(), ("end", ()): 2}
    with pytest.raises(Undefined) as caught:
        AT.step(CLAIM, full, (1, 1))
    assert caught.value.what == "end + 1 is 3, outside of Offset, which is -1..2"
    assert caught.value.call is not None
    action, values = caught.value.call
    assert (action.name, values) == ("claim", (1, 1))
    assert caught.value.where.startswith("line ")
    assert caught.value.where.endswith(": end = end + 1")


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda s: s.end - 5 < Offset(0), True),
        (lambda s: s.end + 9 == Offset(9), True),
        (lambda s: forall(s.up[n] for n in Node), False),
        (lambda s: exists(s.up[n] for n in Node), True),
        (lambda s: forall(s.entry[n].owner == nothing for n in Node), True),
        (lambda s: count(s.up[n] for n in Node) == 1, True),
        (lambda s: first(Offset, lambda o: s.end <= o, default=s.end) == 0, True),
        (lambda s: last(Offset, lambda o: s.end < o, default=s.end) == 2, True),
        (lambda s: last(Offset, lambda o: o < -1, default=s.end - 7) == -7, True),
        (lambda s: forall(o <= 2 for o in Offset), True),
        (lambda s: exists(r.is_next_after(s.rank) for r in Rank), True),
        (lambda s: exists(s.rank.is_next_after(r) for r in Rank), False),
        (lambda s: s.up == everything(Node), False),
        (lambda s: any_of(), False),
        (lambda s: all_of(true, ~false), True),
        (lambda s: ite(s.end == 0, Offset(1), Offset(2)) == 1, True),
        (lambda s: least_of(s.end, s.end - 1) == -1, True),
        (lambda s: least_of(s.end - 1, s.end) == -1, True),
        (lambda s: greatest_of(s.end, s.end - 1) == 0, True),
        (lambda s: greatest_of(s.end - 1, s.end) == 0, True),
        (lambda s: iff(s.end == 0, s.rank == Rank.least()), True),
    ],
)
def test_formulas_have_their_defined_values(formula: Callable[[Log], Bool], expected: bool) -> None:
    assert AT.holds(formula(Log()).node, start()) is expected


def test_conjuncts_are_evaluated_from_left_to_right_until_one_is_false() -> None:
    s = Log()
    beyond = s.mark[s.end - 2]
    assert not AT.holds(all_of(s.end != 0, beyond).node, start())
    assert AT.holds(any_of(s.end == 0, beyond).node, start())
    assert AT.holds(implies(s.end != 0, beyond).node, start())
    assert AT.holds(exists((o == -1) | s.mark[o - 1] for o in Offset).node, start())
    with pytest.raises(Undefined, match=r"end - 2 is -2, outside of Offset, which is -1..2"):
        AT.holds(all_of(beyond, s.end != 0).node, start())
    with pytest.raises(Undefined, match=r"offset - 1 is -2|o - 1 is -2"):
        AT.holds(exists((o == 0) | s.mark[o - 1] for o in Offset).node, start())


def test_an_integer_compared_with_nothing_must_be_in_its_sort() -> None:
    s = Log()
    with pytest.raises(Undefined, match="end - 2 is -2"):
        AT.holds((s.limit == s.end - 2).node, start())


def test_the_reason_why_a_claim_is_false_is_one_conjunct() -> None:
    state: State = {**start(), ("entry.owner", (1,)): 1, ("end", ()): 2}
    (claim,) = SPEC.claims
    reason = why_false(AT, claim.formula, state)
    assert {b.name: v for b, v in reason.chosen.items()} == {"a": 1}
    assert [show(p) for p in reason.premises] == ["entry.owner[a] == a"]
    assert show(reason.conjunct) == "end < 2"


def test_a_sort_without_a_scope_is_an_error() -> None:
    with pytest.raises(SpecError, match="no scope for the sort Rank"):
        Interpreter.of(SPEC, {Node: 2, Offset: 2}).initial(SPEC)


@pytest.mark.parametrize("size", [0, 256, range(0, 4, 2)])
def test_a_scope_with_no_or_too_many_elements_is_an_error(size: int | range) -> None:
    with pytest.raises(SpecError, match="between 1 and 255 consecutive elements"):
        Interpreter.of(SPEC, {Node: size})
