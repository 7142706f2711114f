"""Ground instances of the claims prove a condition in place of the claims themselves."""

from __future__ import annotations

import pytest
import z3

from checkers.symbolic import prove
from checkers.symbolic.instances import failing, instances
from checkers.symbolic.limits import Solver
from checkers.symbolic.sorts import Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from model.language import (
    Bool,
    Map,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    all_of,
    forall,
    implies,
    invariant,
    when,
)


class Turn(Ordered):
    """The turns of a game. They are ordered."""


class Player(Sort):
    """A player of the game, who may hold a turn."""


class Chain(Spec):
    """Each turn has a source, which is a turn, and a holder, which is a player.

    A new turn copies the source of an earlier turn, and the holder of this source. So a turn and
    its source always have the same holder.
    """

    source: Map[Turn, Turn]
    holder: Map[Turn, Player]
    given: Set[Turn]

    def scope(s) -> Scope:
        return {Turn: 3, Player: 2}

    def init(s, someone: Player) -> None:
        for x in Turn:
            s.holder[x] = someone

    @action
    def hand_on(s, old: Turn, new: Turn) -> None:
        when(~s.given[new], forall(s.source[x] != new for x in Turn), old < new)
        root = s.source[old]
        s.given[new] = True
        s.source[new] = root
        s.holder[new] = s.holder[root]

    @invariant
    def holders_are_those_of_sources(s) -> Bool:
        return forall(s.holder[x] == s.holder[s.source[x]] for x in Turn)


def is_proved_by_instances(spec: Spec, *, without: bool = False) -> bool:
    """Returns True if Z3 proves that the first action preserves the last claim. Z3 gets ground
    instances in place of the claims. If `without` is true, it gets no instances either.
    """
    sorts = Unbounded()
    step = Step(spec, Translation(sorts))
    taken, claim = spec.actions[0], spec.claims[-1]
    formula, about = failing(step, taken, claim)
    grounds = [] if without else instances(step, taken, about, spec.claims)
    assert not any(z3.is_quantifier(g) for g in grounds)
    solver = Solver(sorts.context, limit_ms=2_000)
    solver.add([*sorts.axioms, *step.guard(taken), *grounds, z3.Not(formula)])
    return solver.check().verdict == "unsat"


class TwoParts(Chain):
    @invariant
    def sources_are_alike(s) -> Bool:
        return all_of(
            forall(
                implies(s.source[x] == s.source[y], s.holder[x] == s.holder[y])
                for x in Turn
                for y in Turn
            ),
            forall(
                implies((s.source[x] == y) & (s.holder[x] == p), s.holder[y] == p)
                for p in Player
                for x in Turn
                for y in Turn
            ),
        )


@pytest.mark.parametrize("made", [Chain, TwoParts])
def test_ground_instances_alone_prove_a_simple_condition(made: type[Spec]) -> None:
    assert is_proved_by_instances(made())
    assert not is_proved_by_instances(made(), without=True)
    assert prove(made()).holds


def test_the_parts_of_a_conjunction_share_constants() -> None:
    spec = TwoParts()
    step = Step(spec, Translation(Unbounded()))
    _, about = failing(step, spec.actions[0], spec.claims[-1])
    assert [sort for sort, _ in about] == ["Turn", "Turn", "Player"]


class FirstIsWrong(Chain):
    @invariant
    def both(s) -> Bool:
        return all_of(
            forall(implies(s.given[x], s.source[x] == x) for x in Turn),
            forall(s.holder[x] == s.holder[s.source[x]] for x in Turn),
        )


class SecondIsWrong(Chain):
    @invariant
    def both(s) -> Bool:
        return all_of(
            forall(s.holder[x] == s.holder[s.source[x]] for x in Turn),
            forall(implies(s.given[x], s.source[x] == x) for x in Turn),
        )


@pytest.mark.parametrize("wrong", [FirstIsWrong, SecondIsWrong])
def test_ground_instances_prove_no_conjunction_with_a_wrong_part(wrong: type[Spec]) -> None:
    assert not is_proved_by_instances(wrong())
