"""A guard that is a disjunction is exported as an equation (`= TRUE`). Without it, TLC would
evaluate each branch of the disjunction as an action.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.language import Int, Map, Scope, Spec, action, implies, when
from model.language.tla import configuration, module
from model.specs import find
from tests.model.tla_reading import Module


class Offset(Int):
    pass


class Tail(Spec):
    """A spec whose guards are disjunctions; if `end` is 0, only the first branch is defined."""

    end: Offset
    length: Map[Offset, Offset]

    def scope(s) -> Scope:
        return {Offset: range(3)}

    @action
    def write(s) -> None:
        when((s.end == 0) | (s.length[s.end - 1] == 1), s.end < 2)
        s.length[s.end] = Offset(1)
        s.end = s.end + 1

    @action
    def again(s) -> None:
        when(implies(s.end != 0, (s.length[s.end - 1] == 1) | (s.end == 1)))
        s.length[Offset(0)] = Offset(1)


def without_equations(text: str) -> str:
    """Returns the module without the ` = TRUE` that the export adds to disjunctive guards."""
    bare = text.replace(" = TRUE\n", "\n")
    assert bare != text
    return bare


def test_a_guard_that_tlc_would_split_is_an_equation() -> None:
    spec = Tail()
    assert "  /\\ (end = 0 \\/ length[end - 1] = 1) = TRUE" in module(spec).splitlines()
    found, read = explore(spec), Module(module(spec), configuration(spec))
    states, generated = read.explored()
    assert (len(states), generated) == (found.distinct, found.generated)


def test_the_reader_evaluates_every_branch_of_a_bare_disjunction() -> None:
    """The export writes `= TRUE` after a disjunction in a guard. Without it, the reader evaluates
    both branches, also `length[-1]`, and fails as TLC does.
    """
    with pytest.raises(KeyError, match="-1"):
        Module(without_equations(module(Tail())), configuration(Tail())).explored()


def test_the_reader_generates_a_state_for_each_true_branch() -> None:
    spec = find("replication", "kip-101").make(
        {"replicas": 2, "max_leader_epoch": 1, "log_size": 1, "max_records": 1}
    )
    read = Module(without_equations(module(spec)), configuration(spec))
    states, generated = read.explored()
    assert len(states) == explore(spec).distinct
    assert generated > explore(spec).generated
